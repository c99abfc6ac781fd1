// The Caddy process, which gets its configuration on stdin, is monitored, and is reconfigured over its admin socket
// without closing connections. Used by edge.ts, which creates the configuration.
import { spawn, type ChildProcess } from 'node:child_process';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { ADMIN_HOST } from '#core/process/edge-proxy.ts';

/** The fields of Caddy's log lines that are used here. */
export interface CaddyLine {
  readonly level?: string;
  readonly logger?: string;
  readonly msg?: string;
  readonly error?: string;
  /** Host of a certificate. */
  readonly identifier?: string;
  readonly server_name?: string;
}

/** Options of the process. */
interface CaddyDeps {
  /** `CADDY_BIN`, or `caddy` in PATH. */
  readonly program: string;
  readonly config: object;
  readonly adminSocket: string;
  /** Home folder of Caddy, which stores all its files in it. */
  readonly folder: string;
  readonly onLine: (line: CaddyLine) => void;
  readonly onExit: (code: number | null, signal: NodeJS.Signals | null) => void;
}

/** A running Caddy. */
export interface Caddy {
  readonly pid: number;
  /** Keeps connections open. @throws {Error} with Caddy's message; the previous configuration stays. */
  load(config: object): Promise<void>;
  /** Resolves when Caddy has exited; after a timeout, Caddy is killed. */
  stop(): Promise<void>;
}

const READY_MS_MAX = 20_000;
const STOP_MS_MAX = 15_000;
const LINE_CHARS_MAX = 65_536;

/** @throws {Error} with Caddy's message when Caddy does not start. */
export async function startCaddy(deps: CaddyDeps): Promise<Caddy> {
  await stopOrphan(deps.adminSocket);
  const { PATH, TZ } = process.env;
  const child = spawn(deps.program, ['run', '--config', '-'], {
    env: { PATH, ...(TZ !== undefined && { TZ }), HOME: deps.folder, XDG_DATA_HOME: deps.folder },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let last = '';
  let isReady = false;
  createInterface({ input: child.stderr }).on('line', (text) => {
    const line = parseLine(text);
    if (line.level === undefined) last = text.slice(0, 1000);
    else deps.onLine(line);
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.stdin.on('error', () => {});
  child.stdin.end(JSON.stringify(deps.config));
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`Caddy is not ready after ${READY_MS_MAX} ms`)), READY_MS_MAX);
    child.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(late);
      reject(
        error.code === 'ENOENT'
          ? new Error(
              `Caddy is not installed ("${deps.program}"): apt-get install caddy, or name the program in CADDY_BIN; or PUBLIC_HTTPS=off, with a proxy of your own`,
            )
          : error,
      );
    });
    // Output may still arrive after the exit.
    child.once('close', (code, signal) => {
      clearTimeout(late);
      if (!isReady)
        reject(new Error(`Caddy exited during startup (${signal ?? `exit code ${code}`}): ${advised(last)}`));
    });
    void untilAnswers(deps.adminSocket, child).then(() => {
      clearTimeout(late);
      isReady = true;
      resolve();
    }, reject);
  }).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  child.once('exit', (code, signal) => deps.onExit(code, signal));
  return {
    pid: child.pid!,
    async load(config) {
      const { status, text } = await ask(deps.adminSocket, 'POST', '/load', config);
      if (status !== 200) throw new Error(`Caddy refuses the configuration: ${text.slice(0, 500)}`);
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const killer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
      child.kill('SIGTERM');
      await exited;
      clearTimeout(killer);
    },
  };
}

function parseLine(text: string): CaddyLine {
  if (!text.startsWith('{') || text.length > LINE_CHARS_MAX) return {};
  try {
    return JSON.parse(text) as CaddyLine;
  } catch {
    return {};
  }
}

/** Caddy's message, with instructions for known problems. */
function advised(text: string): string {
  if (/permission denied/.test(text))
    return `${text}. Ports below 1024 require a capability: setcap cap_net_bind_service=+ep on the program, or EDGE_HTTP_PORT and EDGE_HTTPS_PORT with others mapped onto them`;
  if (/address already in use/.test(text))
    return `${text}. Stop the process that listens there, or set EDGE_HTTP_PORT and EDGE_HTTPS_PORT`;
  return text;
}

async function untilAnswers(socket: string, child: ChildProcess): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const answer = await ask(socket, 'GET', '/config/apps/http/http_port').catch(() => null);
    if (answer?.status === 200 && answer.text.trim() !== 'null') return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  // The event `close` reports its exit, with Caddy's message.
  return new Promise(() => {});
}

/** Stops a Caddy whose parent was killed, because it still holds the ports. */
async function stopOrphan(socket: string): Promise<void> {
  const found = await ask(socket, 'POST', '/stop').catch(() => null);
  if (found === null) return;
  for (let looks = 0; looks < 100; looks++) {
    if ((await ask(socket, 'GET', '/config/').catch(() => null)) === null) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function ask(
  socketPath: string,
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'cache-control': 'must-revalidate', host: ADMIN_HOST };
    const sent = request({ socketPath, method, path, headers, timeout: 30_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('Caddy does not answer')));
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
