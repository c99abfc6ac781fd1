// What hooks say of pushes, over a Unix socket in a folder of this process's own: each branch that was pushed becomes a
// deployment, whose log is written back until it has ended.
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { createDeployment } from '../deployments/create-deployment.ts';
import { deploymentUrls } from '../deployments/urls.ts';
import type { Parts } from '../parts.ts';
import { followDeployment, openDeploymentSignals, type DeploymentSignals } from '../records/follow-deployment.ts';
import { repositoriesFolder } from '#git/builtin-repositories.ts';
import { describePush } from './describe-push.ts';

/** Whose push it is. */
interface Expected {
  readonly projectId: string;
  readonly repositoryId: string;
  readonly accountId: string | null;
}

/** Pushes that are under way. */
export interface Pushes {
  /** @param push random, given to the hook. */
  expect(push: string, whose: Expected): void;
  close(): Promise<void>;
}

interface Said {
  readonly repository: string;
  readonly push: string | null;
  readonly refs: readonly { readonly before: string; readonly after: string; readonly name: string }[];
}

const NO_COMMIT = /^0+$/;
const HEADS = 'refs/heads/';
const LINE_BYTES_MAX = 1024 * 1024;
/** A push whose hook has not come by then was refused by Git. */
const EXPECTED_MS = 15 * 60_000;
const REFS_MAX = 50;

/** Listens. */
export async function openPushes(parts: Parts): Promise<Pushes> {
  const expected = new Map<string, Expected>();
  const signals = await openDeploymentSignals(parts);
  const sockets = mkdtempSync(path.join(tmpdir().length < 60 ? tmpdir() : '/tmp', 'platform-push-'));
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => open.delete(socket));
    const lines = createInterface({ input: socket });
    let bytes = 0;
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      if (bytes > LINE_BYTES_MAX) socket.destroy();
    });
    lines.on('error', () => {});
    lines.once('line', (line) =>
      parts.background('Push', async () => {
        try {
          await deploy(parts, signals, expected, socket, JSON.parse(line) as Said);
        } finally {
          socket.end();
        }
      }),
    );
  });
  const address = path.join(sockets, 'push.sock');
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(address, resolve));
  await mkdir(repositoriesFolder(parts.folder), { recursive: true, mode: 0o700 });
  await writeFile(path.join(repositoriesFolder(parts.folder), 'socket'), `${address}\n`, { mode: 0o600 });
  return {
    expect(push, whose) {
      expected.set(push, whose);
      setTimeout(() => expected.delete(push), EXPECTED_MS).unref();
    },
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      rmSync(sockets, { recursive: true, force: true });
    },
  };
}

async function deploy(
  parts: Parts,
  signals: DeploymentSignals,
  expected: Map<string, Expected>,
  socket: Socket,
  said: Said,
): Promise<void> {
  // Without a push of ours it was pushed on this machine, by somebody who may write the data folder.
  const whose = said.push === null ? await projectOf(parts, said.repository) : (expected.get(said.push) ?? null);
  if (said.push !== null) expected.delete(said.push);
  if (whose === null || whose.repositoryId !== said.repository) {
    socket.write('No project has this repository: nothing was deployed\n');
    return;
  }
  const closed = new AbortController();
  socket.once('close', () => closed.abort());
  const signal = AbortSignal.any([closed.signal, parts.stopping]);
  const branches = said.refs.filter(({ name }) => name.startsWith(HEADS)).slice(0, REFS_MAX);
  const made: { readonly id: string; readonly branch: string }[] = [];
  for (const { name, after } of branches) {
    const branch = name.slice(HEADS.length);
    if (NO_COMMIT.test(after)) {
      socket.write(
        `Branch ${branch} was deleted: its deployments stay until it is removed with \`platform branches rm\`\n`,
      );
      continue;
    }
    const { message, author } = await describePush(parts.folder, said.repository, after);
    const { id } = await createDeployment(parts, {
      projectId: whose.projectId,
      branch,
      commit: after,
      message,
      author,
      source: 'push',
      createdBy: whose.accountId,
    });
    socket.write(`Deployment ${id} of ${branch} at ${after.slice(0, 7)}\n`);
    made.push({ id, branch });
  }
  for (const { id, branch } of made) await follow(parts, signals, socket, id, branch, signal);
}

async function follow(
  parts: Parts,
  signals: DeploymentSignals,
  socket: Socket,
  id: string,
  branch: string,
  signal: AbortSignal,
): Promise<void> {
  let last = '';
  for await (const news of followDeployment({ sql: parts.sql, signals }, id, 0, signal)) {
    if (news.kind === 'lines') for (const { step, text } of news.lines) socket.write(`[${step}] ${text}\n`);
    else {
      const { status, reason, errorMessage } = news.state;
      last = status;
      if (status === 'success') for (const url of await urlsOf(parts, id, branch)) socket.write(`Live at ${url}\n`);
      else if (status === 'failure' || status === 'timeout' || status === 'canceled')
        socket.write(
          `Deployment ${id} ended: ${status}${reason === null ? '' : ` (${reason})`} ${errorMessage ?? ''}\n`,
        );
      else socket.write(`Status: ${status}\n`);
    }
  }
  if (signal.aborted && last !== 'success') socket.write(`It goes on: platform deployments view ${id}\n`);
}

async function projectOf({ sql }: Parts, repositoryId: string): Promise<Expected | null> {
  const [row] = await sql<{ id: string }[]>`
    SELECT id FROM control.project WHERE repository_id = ${repositoryId} AND deleted_at IS NULL`;
  return row === undefined ? null : { projectId: row.id, repositoryId, accountId: null };
}

async function urlsOf({ sql, addresses }: Parts, id: string, branch: string): Promise<string[]> {
  const [row] = await sql<{ name: string; is_production: boolean }[]>`
    SELECT p.name, p.production_deployment_id = d.id AS is_production
    FROM control.deployment d JOIN control.project p ON p.id = d.project_id WHERE d.id = ${id}`;
  return row === undefined ? [] : deploymentUrls(addresses, row.name, { id, branch, isProduction: row.is_production });
}
