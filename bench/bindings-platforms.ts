// The platforms that benchmarks of bindings compare: our handler in production (supervisor, engine, broker, embedded
// Postgres, database service), `platform dev`, miniflare, and graphile-worker for queues. Each stores its data on disk,
// and all its processes are children of one, which reports their CPU time.
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { nodeFlags } from '../core/node-flags.mjs';
import { temporaryFolder } from './cleanup.ts';
import { notInstalled, publishFolder, startServer, type Server } from './servers.ts';

const here = import.meta.dirname;
const root = path.join(here, '..');
const project = 'bindings';
const declared =
  'db: { DB: main }\nstate: { KV: ledger }\nqueue: { JOBS: jobs, LATER: later }\nworkflow: { ORDERS: orders }\ntimer: { TIMER: reminders }\nfs: { FILES: files }\n';
/** The loops that measure are one request of many operations. */
const unbounded = Object.fromEntries([
  ...['', 'QUEUE_', 'WORKFLOW_', 'TIMER_'].map((kind) => [`WORKER_CPU_LIMIT_MS_${kind}FREE`, '0']),
  ['WORKER_SUBREQUESTS_MAX', '1000000'],
]) as Readonly<Record<string, string>>;

/** The handler as `npm start` runs it, over Postgres, with one engine. @param databaseUrl '' for the embedded one. */
export async function startProduction(name: string, worker = 'bindings', databaseUrl = ''): Promise<Server> {
  const folder = await publishFolder(path.join(here, 'workers'), `main: ${worker}.js\n${declared}`, [project]);
  const server = await startHandler(name, folder, databaseUrl);
  return { ...server, stop: () => server.stop().then(() => rmSync(folder, { recursive: true, force: true })) };
}

/** The durable objects of objects.bench.ts, on our handler or on miniflare. */
export async function startObjects(name: 'handler' | 'miniflare'): Promise<Server | string> {
  if (name === 'miniflare') return startInstalled(name, 'miniflare', 'miniflare-objects');
  const folder = await publishFolder(path.join(here, 'workers'), 'main: objects.js\nobject: { BENCH: Bench }\n', [
    project,
  ]);
  const server = await startHandler(name, folder, '', {
    WORKER_OBJECT_IDLE_MS: '1000',
    WORKER_WEBSOCKETS_MAX: '20000',
    WORKER_HOST_MEMORY_MB: '512',
  });
  return { ...server, stop: () => server.stop().then(() => rmSync(folder, { recursive: true, force: true })) };
}

function startHandler(
  name: string,
  folder: string,
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Server> {
  return startServer(name, `${project}.localhost`, '/up', (port) => ({
    words: [process.execPath, ...nodeFlags, path.join(root, 'runtime/supervisor/main.ts')],
    environment: {
      ...unbounded,
      ...settings,
      FS_PATH: folder,
      HANDLER_PORT: String(port),
      HANDLER_PRIVATE_PORT: '0',
      HANDLER_LISTENER: 'node',
      HANDLER_PROCESSES: '1',
      HANDLER_DOMAIN: 'localhost',
      DATABASE_URL: databaseUrl,
    },
  }));
}

/** `platform dev` over SQLite files. */
export async function startDevelopment(name: string): Promise<Server> {
  const folder = temporaryFolder();
  // A build reads nothing outside of its project.
  for (const file of ['bindings.js', 'binding-operations.js']) {
    cpSync(path.join(here, 'workers', file), path.join(folder, file));
  }
  writeFileSync(path.join(folder, 'platform.yaml'), `main: bindings.js\n${declared}`);
  const server = await startServer(name, 'localhost', '/up', (port) => ({
    words: [process.execPath, path.join(root, 'cli/run.mjs'), 'dev', '-p', String(port), '-h', '127.0.0.1'],
    environment: unbounded,
    cwd: folder,
  }));
  return { ...server, stop: () => server.stop().then(() => rmSync(folder, { recursive: true, force: true })) };
}

export const startMiniflare = (name: string): Promise<Server | string> => startInstalled(name, 'miniflare');

/** A queue over an embedded Postgres of its own, with the settings that ours has. */
export const startGraphileWorker = (name: string): Promise<Server | string> => startInstalled(name, 'graphile-worker');

/** The program of that name in peers/, over a folder of its own. */
async function startInstalled(name: string, library: string, program = library): Promise<Server | string> {
  if (!existsSync(path.join(here, 'node_modules', library))) return notInstalled;
  const folder = temporaryFolder();
  const server = await startServer(name, 'localhost', '/up', (port) => ({
    words: [process.execPath, path.join(here, `peers/${program}.mjs`), folder, String(port)],
  }));
  return { ...server, stop: () => server.stop().then(() => rmSync(folder, { recursive: true, force: true })) };
}
