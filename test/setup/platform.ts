// The handler as it runs in production, for hostile and end-to-end tests: a supervisor process and its engine over a
// data folder of this test's own.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { nodeFlags } from '#core/node-flags.mjs';
import type { SupervisorState } from '#runtime/supervisor/engines/state.ts';
import { deployInto, type SourceGiven } from './deployed-sources.ts';
import { send, type TestRequest, type TestResponse } from './send.ts';
import { until } from './until.ts';

/** A line of the log, as pino writes it: `level` 20 debug, 30 info, 40 warn, 50 error. */
export type LogRecord = Readonly<Record<string, unknown>>;

const LINES_MAX = 10_000;

/** Of the private port. */
export const PRIVATE_TOKEN = 'the-token-of-tests-0123456789';

/** A running platform. */
export interface TestPlatform {
  readonly port: number;
  readonly folder: string;
  readonly supervisorPid: number;
  /** Where the supervisor answers `/_platform/...` and `/metrics`. */
  readonly privatePort: number;
  /** Process id of the engine that began to listen last. */
  readonly enginePid: number;
  /** Engines that have begun to listen so far. */
  readonly engineStarts: number;
  /** Resolves when another engine listens. */
  restarted(): Promise<void>;
  /** `files`: further ones of the project, by path; `branch`: of a preview, default production's. */
  deploy(...given: SourceGiven): Promise<void>;
  fetch(project: string, path?: string, options?: TestRequest): Promise<TestResponse>;
  /** Asks the private port, with its token: GET, or POST where there is a body. */
  ask(path: string, body?: unknown): Promise<TestResponse>;
  /** Builds an artifact into the data folder, and nothing more; its id. */
  build(...given: SourceGiven): Promise<string>;
  /**
   * Asks until the project answers with this text; an engine that is being replaced refuses or cuts connections
   * meanwhile.
   */
  answers(project: string, text: string, path?: string): Promise<void>;
  /** Resolves with the first line of the platform's log that matches. */
  logged(matches: (line: LogRecord) => boolean): Promise<LogRecord>;
  /** What the supervisor shows operators. */
  state(): Promise<SupervisorState>;
  /** Has an engine replaced, as one that grew too large is; resolves when the other one listens. */
  recycle(id: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts supervisor and engines (one, unless `HANDLER_PROCESSES` says otherwise) on a free port with some workers
 * deployed.
 */
export async function startPlatform(
  workers: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>> = {},
): Promise<TestPlatform> {
  const folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
  const { make, deploy } = deployInto(folder);
  for (const [name, code] of Object.entries(workers)) await deploy(name, code);
  const supervisor: ChildProcess = fork(join(import.meta.dirname, '../../runtime/supervisor/main.ts'), {
    execArgv: [...nodeFlags],
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      PLATFORM_CACHE_DIR: process.env['PLATFORM_CACHE_DIR'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      PLATFORM_FENCE: process.env['PLATFORM_FENCE'],
      FS_PATH: folder,
      HANDLER_PORT: '0',
      HANDLER_PRIVATE_PORT: '0',
      PRIVATE_PORT_TOKEN: PRIVATE_TOKEN,
      HANDLER_LISTENER: 'node',
      HANDLER_PROCESSES: '1',
      // Whoever wants one says which.
      DATABASE_URL: 'none',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
  });
  const lines: LogRecord[] = [];
  const waiting: { matches: (line: LogRecord) => boolean; resolve: (line: LogRecord) => void }[] = [];
  createInterface({ input: supervisor.stdout! }).on('line', (text) => {
    const line = parseLine(text);
    if (line === null) return;
    lines.push(line);
    if (lines.length > LINES_MAX) lines.shift();
    for (const waiter of waiting) if (waiter.matches(line)) waiter.resolve(line);
  });
  let engine = { port: 0, pid: 0, privatePort: 0 };
  let engineStarts = 0;
  supervisor.on('message', (message: { type: string } & typeof engine) => {
    if (message.type !== 'listening') return;
    engine = message;
    engineStarts++;
  });
  // Of two messages that come together the second would be lost on whoever listens again after the first.
  const heard = (type: string): Promise<unknown> =>
    new Promise((resolve) => {
      supervisor.on('message', function hear(message: { type: string }) {
        if (message.type !== type) return;
        supervisor.off('message', hear);
        resolve(message);
      });
    });
  const ended = once(supervisor, 'exit').then(([code, signal]) => {
    throw new Error(`The supervisor ended before it served (${signal ?? code}): ${JSON.stringify(lines.slice(-3))}`);
  });
  // Later on its end is what a test may want.
  ended.catch(() => {});
  try {
    while (engineStarts < Number(environment['HANDLER_PROCESSES'] ?? 1))
      await Promise.race([heard('listening'), ended]);
  } catch (error) {
    // Whatever it left behind holds the other end, and the test file would wait for it.
    supervisor.stdout!.destroy();
    throw error;
  }
  const fetch: TestPlatform['fetch'] = (project, path = '/', options = {}) =>
    send(engine.port, `${project}.localhost`, path, options);
  return {
    folder,
    supervisorPid: supervisor.pid ?? 0,
    get port() {
      return engine.port;
    },
    get privatePort() {
      return engine.privatePort;
    },
    get enginePid() {
      return engine.pid;
    },
    get engineStarts() {
      return engineStarts;
    },
    restarted: async () => void (await heard('listening')),
    async logged(matches) {
      return lines.find(matches) ?? new Promise((resolve) => waiting.push({ matches, resolve }));
    },
    async state() {
      const answer = heard('state');
      supervisor.send({ type: 'state' });
      return ((await answer) as { state: SupervisorState }).state;
    },
    async recycle(id) {
      const listening = heard('listening');
      supervisor.send({ type: 'recycle', engine: id });
      await listening;
    },
    deploy,
    fetch,
    build: async (...given) => (await make(...given)).id,
    ask: (path, body) =>
      send(engine.privatePort, '127.0.0.1', path, {
        headers: {
          authorization: `Bearer ${environment['PRIVATE_PORT_TOKEN'] ?? PRIVATE_TOKEN}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      }),
    async answers(project, text, path = '/') {
      await until(async () => (await fetch(project, path).catch(() => null))?.text === text);
    },
    async close() {
      if (supervisor.exitCode === null && supervisor.signalCode === null) {
        supervisor.kill('SIGTERM');
        await once(supervisor, 'exit');
      }
      // Of one that was killed, what it started may still hold the other end.
      supervisor.stdout!.destroy();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Null for what is no line of the log, or a part of one: an engine may be killed in the middle of it. */
function parseLine(text: string): LogRecord | null {
  if (!text.startsWith('{')) return null;
  try {
    return JSON.parse(text) as LogRecord;
  } catch {
    return null;
  }
}
