// Root of the handler's parent process: starts the engine, starts it again when it dies, passes the news of its port on, and
// stops it gracefully. No tenant code runs here, and nothing here depends on the engine's health.
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { pino } from 'pino';
import { engineEnvironment } from './environment.ts';

/** Exit code of an engine that cannot start as configured: starting it again would not help. */
const EXIT_CONFIGURATION = 78;
const BACKOFF_MS_MAX = 5000;

const log = pino({ name: 'supervisor', level: process.env['LOG_LEVEL'] === 'debug' ? 'debug' : 'info' });
const script = join(import.meta.dirname, `../main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`);

let engine: ChildProcess | null = null;
let port = process.env['HANDLER_PORT'] ?? '';
let stopping = false;
let deaths = 0;

function start(): void {
  const startedAt = performance.now();
  const child = fork(script, {
    env: { ...engineEnvironment(process.env), ...(port === '' ? {} : { HANDLER_PORT: port }) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  engine = child;
  child.on('message', (message: { type?: string; port?: number }) => {
    if (message.type !== 'listening' || message.port === undefined) return;
    // A port that was chosen freely stays the same over restarts.
    port = String(message.port);
    process.send?.({ type: 'listening', port: message.port, pid: child.pid });
  });
  child.on('exit', (code, signal) => {
    engine = null;
    if (stopping) process.exit(0);
    if (code === EXIT_CONFIGURATION) process.exit(EXIT_CONFIGURATION);
    deaths = performance.now() - startedAt > 10_000 ? 1 : deaths + 1;
    const delayMs = deaths <= 2 ? 0 : Math.min(BACKOFF_MS_MAX, 50 * 2 ** (deaths - 2));
    log.error({ code, signal, deaths, delayMs }, 'The engine died; starting it again');
    setTimeout(start, delayMs);
  });
}

function stop(): void {
  if (stopping) process.exit(1);
  stopping = true;
  if (engine === null) process.exit(0);
  engine.kill('SIGTERM');
}

process.on('SIGTERM', stop);
process.on('SIGINT', stop);
process.on('disconnect', stop);
start();
