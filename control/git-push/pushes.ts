// Handles pushes reported by hooks. A hook leaves a note in `<FS_PATH>/repositories/pushes/` and sends its name over a
// Unix socket in a private folder of this process. Each pushed branch becomes a deployment, whose log is written back
// until it ends. Notes that were left while no API process ran are handled at the start. A note whose deployments could
// not be created, for example because Postgres was unavailable, is retried.
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { createDeployment } from '../releases/create-deployment.ts';
import { deploymentUrls } from '../records/deployment-urls.ts';
import { removeUnlessProduction } from '../git-host/pushes.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { followDeployment, openDeploymentSignals, type DeploymentSignals } from '../records/follow-deployment.ts';
import { ApiError } from '../http/errors.ts';
import { describePush } from './describe-push.ts';
import { noteDeletion } from '../repositories/shrink.ts';
import { backoffMs } from '#core/backoff.ts';
import { repositoriesFolder } from '#git/builtin-repositories.ts';

/** The connection to the hooks. */
interface Pushes {
  close(): Promise<void>;
}

/** A note left by a hook. */
interface Note {
  readonly repository: string;
  /** The account that pushed; null means a local user with write access to the data folder. */
  readonly account: string | null;
  readonly refs: readonly { readonly before: string; readonly after: string; readonly name: string }[];
}

/** Deployments by ref name; null means that nothing is deployed. */
type Made = Map<string, { readonly id: string; readonly branch: string } | null>;

const NO_COMMIT = /^0+$/;
const HEADS = 'refs/heads/';
const NOTE = /^[0-9a-f-]{36}\.json$/;
const LINE_BYTES_MAX = 200;
const REFS_MAX = 50;
const pauses = { backoffMs: 1000, backoffMsMax: 60_000 };

/** Listens for hooks, and handles notes that were left before. */
export async function openPushes(deps: Dependencies): Promise<Pushes> {
  const folder = path.join(repositoriesFolder(deps.folder), 'pushes');
  const signals = await openDeploymentSignals(deps);
  const sockets = mkdtempSync(path.join(tmpdir().length < 60 ? tmpdir() : '/tmp', 'platform-push-'));
  const open = new Set<Socket>();
  /** Notes being handled or waiting for a retry. */
  const taken = new Set<string>();
  const waiting = new Set<NodeJS.Timeout>();
  let isClosed = false;

  async function take(name: string, socket: Socket | null): Promise<void> {
    if (!NOTE.test(name) || taken.has(name)) return;
    taken.add(name);
    try {
      const note = JSON.parse(await readFile(path.join(folder, name), 'utf8')) as Note;
      await attempt(name, note, new Map(), socket, 1);
    } catch (error) {
      taken.delete(name);
      throw error;
    } finally {
      socket?.end();
    }
  }

  async function attempt(name: string, note: Note, made: Made, socket: Socket | null, count: number): Promise<void> {
    try {
      await deploy(deps, signals, note, made, socket, async () => {
        await rm(path.join(folder, name), { force: true });
        taken.delete(name);
      });
    } catch (error) {
      if (!taken.has(name) || isClosed) throw error;
      deps.log.warn({ err: error, name, attempt: count }, 'A push cannot be deployed yet');
      socket?.write('The deployment cannot be created at the moment: retrying\n');
      const timer = setTimeout(
        () => {
          waiting.delete(timer);
          deps.background('Push', () => attempt(name, note, made, null, count + 1));
        },
        backoffMs(pauses, count),
      );
      waiting.add(timer);
    }
  }

  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => open.delete(socket));
    let bytes = 0;
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      if (bytes > LINE_BYTES_MAX) socket.destroy();
    });
    const lines = createInterface({ input: socket });
    lines.on('error', () => {});
    lines.once('line', (line) => deps.background('Push', () => take(line.trim(), socket)));
  });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const address = path.join(sockets, 'push.sock');
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(address, resolve));
  await writeFile(path.join(repositoriesFolder(deps.folder), 'socket'), `${address}\n`, { mode: 0o600 });
  deps.background('Handling pushes from before a restart', async () => {
    // These notes are handled concurrently, because they belong to different projects.
    for (const name of await readdir(folder))
      await take(name, null).catch((error: unknown) =>
        deps.log.error({ err: error, name }, 'A push could not be accepted'),
      );
  });
  return {
    async close() {
      isClosed = true;
      for (const timer of waiting) clearTimeout(timer);
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      rmSync(sockets, { recursive: true, force: true });
    },
  };
}

/**
 * @param made results of earlier attempts
 * @param onMade called once the deployments exist, when the note can be deleted.
 */
async function deploy(
  deps: Dependencies,
  signals: DeploymentSignals,
  { repository, account, refs }: Note,
  made: Made,
  socket: Socket | null,
  onMade: () => Promise<void>,
): Promise<void> {
  const say = (line: string): void => void socket?.write(`${line}\n`);
  const [project] = await deps.sql<{ id: string }[]>`
    SELECT id FROM control.project WHERE repository_id = ${repository} AND deleted_at IS NULL`;
  if (project === undefined) {
    say('No project has this repository: nothing was deployed');
    return onMade();
  }
  if (refs.some(({ after }) => NO_COMMIT.test(after))) await noteDeletion(deps.folder, repository);
  const branches = refs.filter((ref) => ref.name.startsWith(HEADS));
  if (branches.length > REFS_MAX)
    say(
      `A push is deployed up to ${REFS_MAX} branches: ${branches.length - REFS_MAX} more are stored, and not deployed. ` +
        'Deploy a branch with: platform deploy --remote <branch>',
    );
  let isFailed = false;
  for (const { name, after } of branches.slice(0, REFS_MAX)) {
    if (made.has(name)) continue;
    const branch = name.slice(HEADS.length);
    if (NO_COMMIT.test(after)) {
      const outcome = await removeUnlessProduction(deps, project, branch, 'branch_deleted');
      say(outcome === 'kept: production' ? `Branch ${branch} is production: it stays` : `Branch ${branch} is removed`);
      made.set(name, null);
      continue;
    }
    const { message, author } = await describePush(deps, repository, after);
    try {
      const { id } = await createDeployment(deps, {
        projectId: project.id,
        branch,
        commit: after,
        message,
        author,
        source: 'push',
        createdBy: account,
      });
      say(`Deployment ${id} of ${branch} at ${after.slice(0, 7)}`);
      made.set(name, { id, branch });
    } catch (error) {
      // The project or its repository was deleted: do not retry.
      if (!(error instanceof ApiError)) throw error;
      say(`Branch ${branch} was not deployed: ${error.message}`);
      made.set(name, null);
      isFailed = true;
    }
  }
  await onMade();
  if (socket === null) return;
  const closed = new AbortController();
  socket.once('close', () => closed.abort());
  const signal = AbortSignal.any([closed.signal, deps.stopping]);
  for (const deployment of made.values())
    if (deployment !== null && !(await follow(deps, signals, say, deployment.id, deployment.branch, signal)))
      isFailed = true;
  // The post-receive hook reads this NUL; log lines contain none.
  if (isFailed) socket.write('\0');
}

/** Prints the log of a deployment until it ends. @returns false if the deployment failed. */
async function follow(
  deps: Dependencies,
  signals: DeploymentSignals,
  say: (line: string) => void,
  id: string,
  branch: string,
  signal: AbortSignal,
): Promise<boolean> {
  let last = '';
  for await (const news of followDeployment({ sql: deps.sql, signals }, id, 0, signal)) {
    if (news.kind === 'lines') {
      for (const { step, text } of news.lines) say(`[${step}] ${stripVTControlCharacters(text)}`);
      continue;
    }
    const { status, reason, errorMessage } = news.state;
    last = status;
    if (status === 'success') for (const url of await urlsOf(deps, id, branch)) say(`Live at ${url}`);
    else if (status === 'failure' || status === 'timeout' || status === 'canceled')
      say(`Deployment ${id} ended: ${status}${reason === null ? '' : ` (${reason})`} ${errorMessage ?? ''}`);
    else say(`Status: ${status}`);
  }
  if (signal.aborted && last !== 'success') say(`The deployment continues: platform deployments view ${id}`);
  return last !== 'failure' && last !== 'timeout';
}

async function urlsOf({ sql, addresses }: Dependencies, id: string, branch: string): Promise<string[]> {
  const [row] = await sql<{ name: string; is_production: boolean }[]>`
    SELECT p.name, p.production_deployment_id = d.id AS is_production
    FROM control.deployment d JOIN control.project p ON p.id = d.project_id WHERE d.id = ${id}`;
  return row === undefined ? [] : deploymentUrls(addresses, row.name, { id, branch, isProduction: row.is_production });
}
