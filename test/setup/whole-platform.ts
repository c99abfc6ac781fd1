// `platform start` as a user runs it, with its control plane, over a data folder and ports of this test's own: for
// test/e2e and test/durability.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';

const runProgram = promisify(execFile);
const launcher = path.join(import.meta.dirname, '../../cli/run.mjs');
const WAIT_MS = 120_000;
const PAUSE_MS = 20;
/** Where the platform works on each look. */
export const API_PAUSE_MS = 100;

// oxlint-disable-next-line typescript/no-explicit-any -- whatever the API answers
export type Json = any;

/** A platform that runs. */
export interface WholePlatform {
  /** Everything of this test lies below; `data` is the data folder. */
  readonly folder: string;
  readonly ports: { readonly handler: number; readonly api: number; readonly ui: number };
  /** Token of the first admin. */
  readonly token: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Process of `platform start`. */
  readonly pid: number;
  /** Calls the API; fails where the answer is none of success. */
  call(method: string, path: string, body?: unknown, token?: string): Promise<Json>;
  /** What `GET /` of a host of the platform answers. */
  open(label: string): Promise<{ status: number; text: string; headers: Readonly<Record<string, unknown>> }>;
  /** Runs Git in a folder below this test's. */
  git(cwd: string, ...args: string[]): Promise<{ stdout: string; stderr: string }>;
  /** Runs the program `platform`. */
  cli(cwd: string, ...args: string[]): Promise<{ stdout: string; stderr: string }>;
  /** What the private port says of the platform's processes. */
  status(): Promise<Json>;
  /** Waits for the end of a deployment. @returns it. */
  ended(id: string): Promise<Json>;
  stop(): Promise<void>;
  close(): Promise<void>;
}

/** Starts it; starting again on the same folder is `again`. */
export async function startWholePlatform(
  variables: Readonly<Record<string, string>> = {},
  again: WholePlatform | null = null,
): Promise<WholePlatform> {
  const composed = process.env['TEST_COMPOSE'] ?? '';
  if (composed !== '') {
    const { startComposePlatform } = await import('./compose-platform.ts');
    return startComposePlatform(composed.split(':'), variables);
  }
  const folder = again?.folder ?? mkdtempSync(path.join(tmpdir(), 'platform-whole-'));
  const ports = again?.ports ?? { handler: await freePort(), api: await freePort(), ui: await freePort() };
  const environment: NodeJS.ProcessEnv = {
    ...process.env,
    FS_PATH: path.join(folder, 'data'),
    PLATFORM_HOME: path.join(folder, 'home'),
    HANDLER_PORT: String(ports.handler),
    HANDLER_PRIVATE_PORT: '0',
    API_PORT: String(ports.api),
    UI_PORT: String(ports.ui),
    DOCS_PORT: 'off',
    PUBLIC_API_URL: `http://localhost:${ports.api}`,
    AUTH_URL: `http://localhost:${ports.ui}`,
    NO_COLOR: '1',
    ...variables,
  };
  const child = spawn(process.execPath, [launcher, 'start'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      if (lines.length > 10_000) lines.shift();
      if (line.startsWith('Ctrl-C')) resolve();
      if (process.env['TEST_SHOW_LOG'] !== undefined) console.log(line);
    });
    child.once('exit', () => reject(new Error(`platform start ended:\n${lines.join('\n')}`)));
  });
  const shown = lines.map((line) => /shown once: (\S+)/.exec(line)?.[1]).find((found) => found !== undefined);
  const token = again?.token ?? shown ?? '';
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  return {
    ...platformAt({ folder, ports, token, environment }),
    pid: child.pid!,
    async status() {
      const home = path.join(folder, 'home', 'local');
      const [file] = readdirSync(home);
      const { privateOrigin, token: own } = JSON.parse(readFileSync(path.join(home, file!), 'utf8')) as Json;
      const answer = await fetch(`${privateOrigin}/_platform/status`, { headers: { authorization: `Bearer ${own}` } });
      return answer.json();
    },
    stop,
    async close() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What a test does with a platform, however it was started: over its public ports. */
export function platformAt({
  folder,
  ports,
  token,
  environment,
}: Pick<WholePlatform, 'folder' | 'ports' | 'token' | 'environment'>): Omit<
  WholePlatform,
  'pid' | 'status' | 'stop' | 'close'
> {
  const api = `http://127.0.0.1:${ports.api}`;
  const platform: Omit<WholePlatform, 'pid' | 'status' | 'stop' | 'close'> = {
    folder,
    ports,
    token,
    environment,
    async call(method, at, body, as = token) {
      const answer = await fetch(`${api}${at}`, {
        method,
        headers: { authorization: `Bearer ${as}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      assert.ok(answer.ok, `${method} ${at}: ${answer.status} ${text}`);
      return text === '' ? null : JSON.parse(text);
    },
    open: (label) =>
      new Promise((resolve, reject) => {
        const host = `${label}.localhost`;
        const sent = request({ host: '127.0.0.1', port: ports.handler, headers: { host } }, (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }));
        });
        sent.on('error', reject);
        sent.end();
      }),
    git(cwd, ...args) {
      // An empty one would be the folder of this repository.
      assert.ok(cwd.startsWith(folder));
      return runProgram('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
        cwd,
        env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0' },
      });
    },
    cli: (cwd, ...args) => runProgram(process.execPath, [launcher, ...args], { cwd, env: environment }),
    async ended(id) {
      const look = async (): Promise<Json> => {
        const deployment = await platform.call('GET', `/deployments/${id}`);
        return ['success', 'failure', 'timeout', 'canceled'].includes(deployment.status) && deployment;
      };
      return eventually(`The end of ${id}`, look, API_PAUSE_MS);
    },
  };
  return platform;
}

/** Looks until there is something; what throws meanwhile is looked at again. @throws {Error} after two minutes. */
export async function eventually<Found>(
  what: string,
  look: () => Promise<Found | null | false>,
  pauseMs = PAUSE_MS,
): Promise<Found> {
  let trouble: unknown = null;
  for (
    const end = Date.now() + WAIT_MS;
    Date.now() < end;
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  ) {
    try {
      const found = await look();
      if (found !== null && found !== false) return found;
    } catch (error) {
      trouble = error;
    }
  }
  throw new Error(`${what} did not come within ${WAIT_MS / 1000} s`, { cause: trouble });
}
