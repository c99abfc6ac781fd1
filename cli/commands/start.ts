// `platform start` (`npm start`): publishes the example projects of the checkout, starts the supervisor, and prints a
// line for each step, then the URLs. Only one start can run at a time for each data folder.
import { fork, type ChildProcess } from 'node:child_process';
import { request } from 'node:http';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { defineCommand } from 'citty';
import { hasAi } from '#core/ai-settings.ts';
import type { RouteRecord } from '#core/manifest.ts';
import type { UpgradeState } from '#operations/upgrade/state.ts';
import { noteHolder, notedHolder, takeLock } from '#artifacts/file-lock.ts';
import { nodeFlags } from '#core/node-flags.mjs';
import { smallHeapFlags } from '#core/process/node-command.ts';
import { takeActivatedSocket, variablesWithSocket } from '#core/process/socket-activation.ts';
import { readRoutes } from '#artifacts/route-records.ts';
import { CliError } from '../terminal/failure.ts';
import {
  dataFolder,
  handlerAddress,
  isCheckout,
  packageFolder,
  projectUrl,
  sourceFile,
  type HandlerAddress,
} from '../local/locations.ts';
import { recordFile } from '../local/local-platform.ts';
import { checkSettings } from '../start/check-settings.ts';
import { upgradeDone, upgradeOnStart } from '../start/start-upgrade.ts';
import type { Examples } from '../start/example-projects.ts';
import { keepPublished, publishedBefore, stampOf } from '../start/examples-stamp.ts';
import { listenerText } from '../start/listener-text.ts';
import { formatSeconds, whileShown } from '../terminal/elapsed.ts';
import type { Shell } from '../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'start', description: 'Start the platform on this machine' },
  args: {
    verbose: { type: 'boolean', alias: 'v', description: 'Show the log of the platform' },
  },
  async run({ args, data }) {
    const examples = path.join(packageFolder, 'examples');
    return startPlatform(data as Shell, {
      supervisor: sourceFile('runtime/supervisor/main'),
      examples: isCheckout ? examples : null,
      publish: publishExamples,
      verbose: args.verbose === true,
    });
  },
});

/** Message of the supervisor when an engine accepts requests. */
interface Listening {
  readonly type: 'listening';
  readonly port: number;
  readonly pid: number;
  readonly listener: { readonly technology: 'node' | 'uws'; readonly reason: string | null } | null;
  /** Whether a control plane is started too. */
  readonly hasControl: boolean;
}

/** Message of the supervisor when the control plane is ready. */
interface Control {
  readonly type: 'control';
  readonly port: number;
  /** Ports of the dashboard and the documentation; null for a part that is not served. */
  readonly uiPort: number | null;
  readonly docsPort: number | null;
  /** The token for the first sign-in, and whether this start created it. */
  readonly firstRun: { readonly token: string | null; readonly isNew: boolean };
}

const API_PORT = '4002';
const PROBE_MS = 10_000;
/** Maximum of printed project URLs. */
const ADDRESSES_MAX = 20;
const STOP_MS = 15_000;

/** Folders and files that affect the build of the examples. */
const BUILT_BY = ['artifacts', 'builder', 'core', 'packages', 'package-lock.json'];

/** Dependencies of `start`. */
export interface StartDeps {
  /** Module of the supervisor, which runs as a child process. */
  readonly supervisor: string;
  /** Folder of example projects to publish first. */
  readonly examples: string | null;
  /** Publishes the examples. @returns null if stopped. */
  publish(examples: string, folder: string, stopped: Promise<unknown>): Promise<Examples | null>;
  /** Whether to show the log; otherwise only warnings and errors, unless the environment asks for more. */
  readonly verbose: boolean;
}

/** Runs until stopped by the user; rejects if the supervisor exits. */
export async function startPlatform(shell: Shell, deps: StartDeps): Promise<number> {
  const { examples } = deps;
  const folder = dataFolder(shell);
  const lockFile = path.join(folder, 'locks', 'start');
  const lock = takeLock(lockFile);
  if (lock === null) {
    const pid = notedHolder(lockFile);
    throw new CliError(`The platform is already running on ${folder}${pid === null ? '' : ` (process ${pid})`}`, {
      advice: 'Stop that platform first, or set FS_PATH, HANDLER_PORT and API_PORT to start a second platform.',
    });
  }
  noteHolder(lockFile, process.pid);
  const stopped = shell.untilStopped();
  try {
    checkSettings(shell);
    const given = activatedSocket(shell);
    const upgrade = await upgradeOnStart(shell, folder);
    let isNew: readonly string[] = [];
    if (examples !== null && existsSync(examples)) {
      const published = await step(
        shell,
        'Publishing the examples',
        () => deps.publish(examples, folder, stopped),
        examplesText,
      );
      if (published === null) return 0;
      isNew = published.published;
    }
    return await superviseUntil(stopped, { ...deps, isNew }, folder, shell, upgrade, given);
  } finally {
    lock.release();
  }
}

/**
 * Runs one step of the start: shows its seconds on a terminal, then a line with its result and time.
 *
 * @param done the text of the result, without the time; null means no line.
 */
async function step<Result>(
  shell: Shell,
  doing: string,
  work: () => Promise<Result>,
  done: (result: Result) => string | null,
): Promise<Result> {
  const began = performance.now();
  const result = await whileShown(shell, doing, work);
  const text = done(result);
  if (text !== null) shell.out(shell.paint('dim', `${text} (${formatSeconds(performance.now() - began)})`));
  return result;
}

function examplesText(examples: Examples | null): string | null {
  if (examples === null) return null;
  const [all, published] = [examples.all.length, examples.published.length];
  if (published === 0) return `${all} examples unchanged`;
  return `${published === all ? all : `${published} of ${all}`} examples published`;
}

/**
 * Publishes the examples, unless they and the builder are unchanged since an earlier start. Uses a child process, to
 * keep the bundler out of the memory of this process.
 */
async function publishExamples(examples: string, folder: string, stopped: Promise<unknown>): Promise<Examples | null> {
  const stamp = stampOf([examples, ...BUILT_BY.map((name) => path.join(packageFolder, name))]);
  const before = publishedBefore(folder, stamp);
  if (before !== null) return { all: before, published: [] };
  const child = fork(sourceFile('cli/start/example-projects'), [examples, folder], {
    execArgv: [...nodeFlags],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const told: Examples[] = [];
  child.on('message', (message) => void told.push(message as Examples));
  let isStopped = false;
  void stopped.then(() => {
    isStopped = true;
    child.kill('SIGTERM');
  });
  // A message may arrive after the exit, but not after the end of the channel.
  const [[code]] = (await Promise.all([once(child, 'exit'), once(child, 'disconnect')])) as [[number | null], unknown];
  const [published = null] = told;
  if ((code !== 0 || published === null) && !isStopped)
    throw new CliError('Could not publish the examples', { advice: 'See the error above.' });
  if (isStopped || published === null) return null;
  keepPublished(folder, stamp, published.all);
  return published;
}

async function superviseUntil(
  stopped: Promise<unknown>,
  { supervisor, verbose, isNew }: StartDeps & { readonly isNew: readonly string[] },
  folder: string,
  shell: Shell,
  upgrade: UpgradeState | null,
  given: ReturnType<typeof takeActivatedSocket>,
): Promise<number> {
  const address = { ...handlerAddress(shell), ...(given !== null && { port: given.port }) };
  // This check runs while the supervisor starts.
  const noServers = import('#core/process/confinement/servers-here.ts')
    .then((module) => module.noServersHere(shell.env))
    .catch((error: Error) => `Could not check whether servers for Node can be isolated: ${error.message}`);
  const isMock = !hasAi(shell.env);
  const child = fork(supervisor, {
    // The supervisor runs no isolates, so it gets no flags for them: it starts sooner and uses less memory with Node's
    // own snapshot.
    execArgv: [...smallHeapFlags],
    env: {
      ...shell.env,
      ...variablesWithSocket(given),
      API_PORT: shell.env['API_PORT']?.trim() || API_PORT,
      FS_PATH: folder,
      HANDLER_PORT: String(address.port),
      // All of several.
      HANDLER_DOMAIN: shell.env['HANDLER_DOMAIN']?.trim() || address.domain,
      PLATFORM_LOCAL_RECORD: recordFile(shell, folder),
      // As in `platform dev`, projects with `ai: true` work without a configured provider.
      ...(isMock && { AI_PROVIDER_MOCK_KIND: 'mock' }),
      ...(upgrade !== null && { PLATFORM_UPGRADE: upgrade.id }),
      ...(!verbose && !asksForLog(shell) && { LOG_LEVEL: 'warn' }),
    } as NodeJS.ProcessEnv,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // The supervisor has its own process group, so Ctrl-C reaches only this process, which then stops the supervisor
    // once.
    detached: true,
  });
  given?.sendTo(child);
  const ended = new Promise<number>((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });
  const listening = messageOf<Listening>(child, 'listening');
  const control = messageOf<Control>(child, 'control');
  const asked = stopped.then(() => 'asked' as const);
  const serve = async (): Promise<never> => {
    const { port, listener, hasControl } = await step(
      shell,
      'Starting the engines',
      () => listening,
      () => 'Engines started',
    );
    if (listener !== null) shell.out(shell.paint('dim', listenerText(listener, shell, given !== null)));
    upgradeDone(folder, upgrade);
    const sites = hasControl
      ? await step(
          shell,
          'Starting the API and the dashboard',
          () => control,
          () => 'API and dashboard started',
        )
      : null;
    await printAddresses(readRoutes(folder), isNew, { ...address, port }, shell);
    if (sites !== null) printControl(sites, shell);
    if (hasControl && isMock)
      shell.out(shell.paint('dim', 'AI uses the mock provider: set AI_PROVIDER_<NAME>_KIND to use another'));
    const warning = await noServers;
    if (warning !== null) shell.err(shell.paint('yellow', warning));
    shell.out(shell.paint('dim', 'Ctrl-C stops it'));
    return new Promise<never>(() => {});
  };
  const end = await Promise.race([serve(), ended, asked]);
  if (end !== 'asked')
    throw new CliError(`The handler exited (exit code ${end})`, { advice: 'See the message of the handler above.' });
  await stop(child, ended);
  return 0;
}

function activatedSocket(shell: Shell): ReturnType<typeof takeActivatedSocket> {
  try {
    return takeActivatedSocket(shell.env);
  } catch (error) {
    throw new CliError((error as Error).message, {
      advice: 'Change the address with `systemctl edit --full platform.socket`.',
    });
  }
}

/** Whether a variable chooses what is logged. */
function asksForLog({ env }: Shell): boolean {
  return ['LOG_LEVEL', 'LOG_REQUESTS'].some((name) => (env[name]?.trim() ?? '') !== '');
}

function messageOf<Message extends { readonly type: string }>(
  child: ChildProcess,
  type: Message['type'],
): Promise<Message> {
  return new Promise((resolve) => {
    child.on('message', (message) => {
      if ((message as Partial<Message>).type === type) resolve(message as Message);
    });
  });
}

/** Prints the URLs, and the first-run token if it was just created. */
function printControl({ port, uiPort, docsPort, firstRun }: Control, shell: Shell): void {
  const api = shell.env['PUBLIC_API_URL'] || `http://localhost:${port}`;
  const ui = shell.env['AUTH_URL'] || `http://localhost:${uiPort}`;
  shell.out(`  ${shell.paint('cyan', api)} is the API, documented at ${shell.paint('cyan', `${api}/docs`)}`);
  if (uiPort !== null) shell.out(`  ${shell.paint('cyan', ui)} is the dashboard`);
  if (docsPort !== null) {
    const docs = shell.env['DOCS_URL'] || `http://localhost:${docsPort}`;
    shell.out(`  ${shell.paint('cyan', docs)} is the documentation`);
  }
  if (!firstRun.isNew || firstRun.token === null) return;
  shell.out(`First-run token, shown once: ${shell.paint('bold', firstRun.token)}`);
  shell.out(shell.paint('dim', 'No token is needed for the CLI on this machine'));
}

/**
 * Prints the URLs of the first projects. Requests only the projects that this start published, and reports those that
 * do not respond. A request starts a worker, and a restart of the platform must not start thousands of workers.
 */
async function printAddresses(
  routes: readonly RouteRecord[],
  isNew: readonly string[],
  address: HandlerAddress,
  shell: Shell,
): Promise<void> {
  const served = routes.flatMap(({ project, production }) => (production === null ? [] : [project]));
  const { port, domain } = address;
  const answers = await Promise.all(
    isNew.map(async (project) => [project, await probe(`${project}.${domain}:${port}`, port)] as const),
  );
  const failing = new Map(answers.filter(([, status]) => typeof status === 'string' || status >= 500));
  shell.out(shell.paint('bold', `The platform is running on port ${port}`));
  for (const project of served.filter((name) => !failing.has(name)).slice(0, ADDRESSES_MAX))
    shell.out(`  ${shell.paint('cyan', projectUrl(address, project, null))}`);
  for (const [project, status] of failing)
    shell.err(`  ${project} does not respond: ${typeof status === 'number' ? `HTTP ${status}` : status}`);
  const left = served.length - failing.size - ADDRESSES_MAX;
  if (left > 0) shell.out(shell.paint('dim', `  and ${left} more`));
  if (served.length === 0) shell.out('  No deployments yet: `platform deploy <folder> --name <name>`');
}

/**
 * The status of `GET /`, or the error. Connects to 127.0.0.1, since Node does not resolve `*.localhost` everywhere.
 */
function probe(host: string, port: number): Promise<number | string> {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path: '/', headers: { host }, timeout: PROBE_MS }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
      response.on('error', (error) => resolve(error.message));
    });
    sent.on('timeout', () => sent.destroy(new Error(`no response within ${PROBE_MS / 1000} s`)));
    sent.on('error', (error) => resolve(error.message));
    sent.end();
  });
}

async function stop(child: ChildProcess, ended: Promise<number>): Promise<void> {
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(late);
}
