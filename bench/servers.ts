// Starts one server of a comparison as a separate process: our engine over either listener, workerd, a server in
// peers/, or any program. line-up.ts starts all servers of a scenario.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { build } from '../builder/build/build.ts';
import { nodeFlags } from '../core/node-flags.mjs';
import { publish } from '../artifacts/publish.ts';
import { parseProjectConfig } from '../core/config/project-config.ts';
import { engineProcessSettings } from '../runtime/supervisor/engines/environment.ts';
import { freePort } from '../test/setup/free-port.ts';
import type { HeldBytes, Turns } from './engine-figures.ts';
import { atExit, temporaryFolder } from './cleanup.ts';
import type { Target } from './load.ts';

/** A worker of that name lies in workers/, and the peers know it. */
export type Scenario = 'hello' | 'json' | 'echo' | 'stream' | 'sse' | 'websocket';

/** A server that runs. */
export interface Server extends Target {
  /** What holds its memory, and what of its own heap a collection leaves, in bytes; only of ours. */
  readonly held?: () => Promise<HeldBytes>;
  readonly reached?: () => Promise<number>;
  /** The longest turns of its event loop since this was last asked; the first question begins to look. */
  readonly turns?: () => Promise<Turns>;
  stop(): Promise<void>;
}

/** Settings of an engine whose workers loop for as long as a measurement takes. */
export const cpuLimitOff: Readonly<Record<string, string>> = {
  WORKER_CPU_LIMIT_MS_FREE: '0',
  WORKER_CPU_LIMIT_MS_PRO: '0',
  WORKER_CPU_LIMIT_MS_ENTERPRISE: '0',
};

const here = import.meta.dirname;
/** Of a function, in a stack of workerd's. */
const ADDRESS = /\S+@0x[\da-f]+\s*/g;
const START_MS_MAX = 60_000;
/** Runs a command with a C library that uWebSockets.js loads under. */
export const newGlibc = path.join(here, '../.ci/with-new-glibc');

/** Builds a worker and publishes it under several names into a fresh data folder, which is returned. */
export function publishWorkers(worker: string, projects: readonly string[]): Promise<string> {
  return publishFolder(path.join(here, 'workers'), `main: ${worker}.js\n`, projects);
}

/** The same of any project's folder. @param yaml text of its platform.yaml. */
export async function publishFolder(
  root: string,
  yaml: string,
  projects: readonly string[],
  vars: Readonly<Record<string, string>> = {},
): Promise<string> {
  const folder = temporaryFolder();
  const { config } = parseProjectConfig(yaml, { file: 'platform.yaml' });
  const artifact = await build({ root, config: config!, artifacts: path.join(folder, 'artifacts'), durable: false });
  for (const project of projects) {
    publish({
      dataFolder: folder,
      project,
      branch: 'main',
      production: true,
      artifactFolder: artifact.folder,
      artifactId: artifact.id,
      vars,
    });
  }
  return folder;
}

/** Our engine process, as the supervisor would start it. `project` is the one whose answer shows that it is up. */
export async function startEngine(
  name: string,
  folder: string,
  listener: 'node' | 'uws',
  project: string,
  target: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const counting = pathToFileURL(path.join(here, 'engine-figures.ts')).href;
  const words = [...nodeFlags, '--import', counting, path.join(here, '../runtime/engine/main.ts')];
  const environment = {
    ...engineProcessSettings,
    ...settings,
    FS_PATH: folder,
    HANDLER_LISTENER: listener,
    HANDLER_DOMAIN: 'localhost',
  };
  const wrapped = listener === 'uws' ? [newGlibc, process.execPath, ...words] : [process.execPath, ...words];
  return startServer(name, `${project}.localhost`, target, (port) => ({
    words: wrapped,
    environment: { ...environment, HANDLER_PORT: String(port) },
    counts: true,
  }));
}

/** A program that does the same in another way: the last word is its file in `peers/`. */
export function startPeer(
  name: string,
  program: string,
  words: readonly string[],
  scenario: string,
  target: string,
): Promise<Server> {
  const [file, ...before] = words.toReversed();
  return startServer(name, `${scenario}.localhost`, target, (port) => ({
    words: [program, ...before.toReversed(), path.join(here, 'peers', file!), scenario, String(port)],
  }));
}

/** The same with a program that bench/package.json installs. */
export function startPackaged(
  name: string,
  binaries: readonly string[],
  words: readonly string[],
  scenario: Scenario,
  target: string,
): Promise<Server> | string {
  const binary = installed(binaries);
  return binary === null ? notInstalled : startPeer(name, binary, words, scenario, target);
}

/** workerd with the worker as it stands. */
export function startWorkerd(scenario: Scenario, target: string): Promise<Server> | string {
  const code = readFileSync(path.join(here, `workers/${scenario}.js`), 'utf8');
  return startWorkerdModule('workerd', `${scenario}.localhost`, code, target);
}

/** workerd with one module. @param flags compatibility flags */
export function startWorkerdModule(
  name: string,
  host: string,
  code: string,
  target: string,
  flags: readonly string[] = [],
): Promise<Server> | string {
  const binary = workerdBinary();
  if (binary === null) return notInstalled;
  const folder = temporaryFolder('platform-bench-workerd-');
  const file = path.join(folder, 'config.capnp');
  return startServer(name, host, target, (port) => {
    writeFileSync(path.join(folder, 'worker.js'), code);
    writeFileSync(file, workerdConfig(port, flags));
    return { words: [binary, 'serve', file] };
  });
}

/** Null when its package is not installed for this machine. */
export function workerdBinary(): string | null {
  return installed(['@cloudflare/workerd-linux-64/bin/workerd', '@cloudflare/workerd-linux-arm64/bin/workerd']);
}

/** One worker on one socket, nothing else switched on. */
function workerdConfig(port: number, flags: readonly string[]): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "worker", esModule = embed "worker.js")],
    compatibilityDate = "2025-04-02",
    compatibilityFlags = ${JSON.stringify(flags)},
  ))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`;
}

/** Why a peer cannot take part. */
export const notInstalled = 'its package is not installed for this machine (bench/package.json)';

function installed(candidates: readonly string[]): string | null {
  return candidates.map((name) => path.join(here, 'node_modules', name)).find((file) => existsSync(file)) ?? null;
}

let uwsReason: string | null | undefined;

/** Why uWebSockets.js does not run here; null when it does. */
export function uwsMissing(): string | null {
  if (uwsReason !== undefined) return uwsReason;
  const tried = spawnSync(newGlibc, [process.execPath, '-e', 'require("uWebSockets.js")'], {
    cwd: here,
    encoding: 'utf8',
  });
  const words = (tried.error?.message ?? tried.stderr).trim().split('\n');
  return (uwsReason =
    tried.status === 0 ? null : (words.find((line) => /error/i.test(line)) ?? words[0] ?? 'it does not load'));
}

type Launch = (port: number) => {
  readonly words: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Folder that it starts in. */
  readonly cwd?: string;
  /** It runs engine-figures.ts. */
  readonly counts?: boolean;
};

/** Starts a process on a free port and waits until it answers 200. */
export async function startServer(name: string, host: string, target: string, launch: Launch): Promise<Server> {
  const port = await freePort();
  const { words, environment, cwd, counts } = launch(port);
  const [program, ...args] = words as [string, ...string[]];
  const child = spawn(program, args, {
    env: { ...process.env, ...environment },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: counts === true ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['ignore', 'pipe', 'pipe'],
  });
  child.once(
    'exit',
    atExit(() => child.kill('SIGKILL')),
  );
  let printed = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk: Buffer) => (printed = (printed + chunk.toString()).slice(-8000)));
  const url = `http://127.0.0.1:${port}${target}`;
  const deadline = performance.now() + START_MS_MAX;
  while ((await status(url, host)) !== 200) {
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`it does not answer on ${url}: ${(printed.trim().split('\n').at(-1) ?? '').slice(0, 300)}`);
    }
    await delay(20);
  }
  const answers = {
    entries: () => askEngine(child, 'entries'),
    held: () => askEngine(child, 'held'),
    reached: () => askEngine(child, 'reached'),
    turns: () => askEngine(child, 'turns'),
  };
  const own = counts === true ? answers : {};
  const onExit = (code: number | null, signal: string | null): void =>
    void process.stdout.write(
      `${name} ended by itself: ${signal ?? code}: ${printed.replaceAll(ADDRESS, '').trim().slice(0, 500)}\n`,
    );
  child.once('exit', onExit);
  const stop = (): Promise<void> => {
    child.off('exit', onExit);
    return stopProcess(child);
  };
  return { name, pid: child.pid!, url, host, ...own, stop };
}

/** What engine-figures.ts answers. */
interface Counted {
  readonly entries: number;
  readonly held: HeldBytes;
  readonly reached: number;
  readonly turns: Turns;
}

function askEngine<K extends keyof Counted>(child: ChildProcess, what: K): Promise<Counted[K]> {
  return new Promise((resolve) => {
    const heard = (message: Partial<Counted>): void => {
      if (message[what] === undefined) return;
      child.off('message', heard);
      resolve(message[what]);
    };
    child.on('message', heard);
    child.send(what);
  });
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const killer = setTimeout(() => child.kill('SIGKILL'), 2000);
  await once(child, 'exit');
  clearTimeout(killer);
}

/** Status of one GET; 0 where nobody answers. */
export async function status(url: string, host: string): Promise<number> {
  return (await get(url, host)).status;
}

/** The text of a worker's answer. @throws {Error} with what came instead of it. */
export async function ask(server: Server, target: string): Promise<string> {
  const { status, body } = await get(new URL(target, server.url).href, server.host);
  const text = body.toString();
  if (status !== 200) throw new Error(`${server.name} answers ${target} with ${status}: ${text.slice(0, 300)}`);
  return text;
}

/** One GET on a connection of its own; status 0 where nobody answers. */
export function get(url: string, host: string): Promise<{ readonly status: number; readonly body: Buffer }> {
  return new Promise((resolve) => {
    const failed = (): void => resolve({ status: 0, body: Buffer.alloc(0) });
    const sent = request(url, { headers: { host }, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }));
      response.on('error', failed);
    });
    sent.on('error', failed);
    sent.end();
  });
}
