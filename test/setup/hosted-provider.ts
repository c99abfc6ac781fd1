// A double of a provider of hosted machines, written from docs/sandbox-provider.md: its API over HTTPS, and machines
// that are processes of this one with folders of their own. Tests say what it does wrong.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { createWebSocketStream, WebSocketServer } from 'ws';
import type { SandboxBackend } from '#sandbox/backends/backend.ts';
import { openHostedBackend } from '#sandbox/backends/hosted/backend.ts';
import { hostedProgram } from '#sandbox/backends/hosted/program.ts';
import { openProviderApi } from '#sandbox/backends/hosted/provider-api.ts';
import { hostedSettings } from '#sandbox/backends/hosted/settings.ts';

/** Signed by itself, for localhost; of this double alone. */
const TLS = path.join(import.meta.dirname, '../fixtures/tls');
export const CERTIFICATE = readFileSync(path.join(TLS, 'localhost.crt'), 'utf8');
const API_KEY = 'hosted-key-of-the-double';
/** Makes keys. */
export const ADMIN_KEY = 'admin-key-of-the-double';
const ORGANIZATION = 'acme';
/** How long a backend over it waits for an answer. */
const ANSWER_MS = 5000;

/** Programs on its machines keep what Node compiled where this run of the tests does: each call is one. */
const kept = process.env['NODE_COMPILE_CACHE'];
const compiled: Record<string, string> = kept === undefined ? {} : { NODE_COMPILE_CACHE: kept };

type State = 'running' | 'suspended' | 'stopped';

interface Machine {
  readonly id: string;
  readonly name: string;
  readonly folder: string;
  machineType: string;
  state: State;
}

/** What it does instead of answering; `isDone`: what was asked is done all the same. */
export type Misbehaviour =
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: string; readonly isDone?: boolean }
  | { readonly kind: 'garbage' }
  | { readonly kind: 'endless' }
  | { readonly kind: 'hang' };

export interface FakeHostedProvider {
  readonly baseUrl: string;
  /** Method and path of each request, without its query. */
  readonly requests: string[];
  /** Told of each request as it came: its first line and headers, and its body. */
  heard(head: string, body: Uint8Array): void;
  /** Machines there are. */
  names(): string[];
  all(): readonly { readonly name: string; readonly machineType: string; readonly folder: string }[];
  /** For the next requests whose `METHOD /path` the pattern finds. */
  misbehave(pattern: RegExp, how: Misbehaviour, times?: number): void;
  key: { scoped: boolean; actions: string[]; expiresAt: string | null };
  /** Keys that were made, and what is said of them otherwise than was asked. */
  readonly keys: { name: string; actions: string[]; expiresAt: string }[];
  keysMade: object;
  readonly templates: Map<string, string>;
  machineTypes: string[];
  /** A machine is lost, as when its host burns. */
  lose(name: string): void;
  close(): Promise<void>;
}

export async function startHostedProvider(): Promise<FakeHostedProvider> {
  const root = mkdtempSync(path.join(tmpdir(), 'hosted-provider-'));
  const machines = new Map<string, Machine>();
  const programs = new Set<ChildProcess>();
  const requests: string[] = [];
  const rules: { pattern: RegExp; how: Misbehaviour; times: number }[] = [];
  let made = 0;

  const server = createServer(
    { cert: CERTIFICATE, key: readFileSync(path.join(TLS, 'localhost.key'), 'utf8') },
    (request, response) => void answer(request, response).catch(() => response.destroy()),
  );
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  server.on('upgrade', (request, socket, head) => {
    const url = new URL(request.url!, 'https://localhost');
    requests.push(`EXEC ${url.pathname}`);
    double.heard(headOf(request), head);
    const rule = take(`EXEC ${url.pathname}`);
    if (rule?.kind === 'hang') return;
    const machine = machineOf(url.pathname, '/exec');
    const status =
      rule?.kind === 'status'
        ? rule.status
        : request.headers.authorization !== `Bearer ${API_KEY}`
          ? 401
          : machine === null
            ? 404
            : machine.state !== 'running'
              ? 409
              : 0;
    if (rule?.kind === 'garbage') return void socket.end('x'.repeat(100));
    if (status !== 0) return void socket.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: 0\r\n\r\n`);
    sockets.handleUpgrade(request, socket, head, (client) => {
      const [program, ...args] = url.searchParams.getAll('command') as [string, ...string[]];
      const child = spawn(program, args, { cwd: machine!.folder, env: environmentOf(machine!), stdio: 'pipe' });
      programs.add(child);
      const stream = createWebSocketStream(client);
      const end = (): void => {
        child.stdin.end();
        child.kill('SIGKILL');
        child.stdout.resume();
      };
      stream.on('error', end).on('close', end);
      child.on('error', () => stream.destroy());
      child.stdin.on('error', () => {});
      stream.pipe(child.stdin);
      // Who does not read makes the program wait.
      child.stdout.pipe(stream, { end: false });
      child.stderr.resume();
      child.once('close', () => {
        programs.delete(child);
        // What nobody reads any more would hold up the end of the connection.
        stream.unpipe();
        stream.resume().end();
      });
    });
  });

  function environmentOf({ folder }: Machine): Record<string, string> {
    return {
      PATH: `${path.dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      SANDBOX_WORKSPACE: path.join(folder, 'workspace'),
      SANDBOX_SECRETS: secretsOf(folder),
      ...compiled,
    };
  }

  function take(line: string): Misbehaviour | null {
    const rule = rules.find(({ pattern, times }) => times > 0 && pattern.test(line));
    if (rule === undefined) return null;
    rule.times--;
    return rule.how;
  }

  const prefix = `/v1/organizations/${ORGANIZATION}/sandboxes`;
  function machineOf(pathname: string, suffix: string): Machine | null {
    if (!pathname.startsWith(`${prefix}/`) || !pathname.endsWith(suffix)) return null;
    return machines.get(pathname.slice(prefix.length + 1, pathname.length - suffix.length)) ?? null;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'https://localhost');
    const line = `${request.method} ${url.pathname}`;
    requests.push(line);
    const body = await buffer(request);
    double.heard(headOf(request), body);
    const rule = take(line);
    if (rule?.kind === 'hang') return;
    if (rule?.kind === 'garbage') return void response.end('<html>Bad gateway</html>');
    if (rule?.kind === 'endless') {
      while (!response.destroyed) if (!response.write(' '.repeat(65_536))) await once(response, 'drain');
      return;
    }
    const send = (status: number, value: unknown): void => {
      if (rule?.retryAfter !== undefined) response.setHeader('retry-after', rule.retryAfter);
      response
        .writeHead(rule?.status ?? status, { 'content-type': 'application/json' })
        .end(JSON.stringify(rule === null ? value : { error: { message: 'as the test wants it' } }));
    };
    if (rule !== null && rule.isDone !== true) return send(rule.status, {});
    if (line === `POST /v1/organizations/${ORGANIZATION}/keys`) {
      if (request.headers.authorization !== `Bearer ${ADMIN_KEY}`) return send(403, {});
      const asked = JSON.parse(body.toString()) as { name: string; actions: string[]; expiresAt: string };
      if (double.keys.some(({ name }) => name === asked.name)) return send(409, {});
      double.keys.push(asked);
      return send(201, { key: `made-key-${asked.name}`, ...asked, ...double.keysMade });
    }
    if (request.headers.authorization !== `Bearer ${API_KEY}`) return send(401, {});
    const json = (): Record<string, unknown> => JSON.parse(body.toString()) as Record<string, unknown>;
    if (line === 'GET /v1/account') return send(200, { key: double.key });
    if (line === `GET /v1/organizations/${ORGANIZATION}/machine-types`)
      return send(200, { items: double.machineTypes });
    const template = /\/templates\/(.+)$/.exec(url.pathname)?.[1];
    if (template !== undefined) {
      const snapshotId = double.templates.get(template);
      return snapshotId === undefined ? send(404, {}) : send(200, { snapshotId });
    }
    if (line === `GET ${prefix}`) {
      // Pages of two, so that whoever lists has to go on.
      const all = [...machines.values()].filter(({ name }) => name.startsWith(url.searchParams.get('prefix') ?? ''));
      const from = Number(url.searchParams.get('cursor') || 0);
      const cursor = from + 2 < all.length ? String(from + 2) : null;
      return send(200, { items: all.slice(from, from + 2).map(shown), cursor });
    }
    if (line === `POST ${prefix}`) {
      const { name, machineType } = json() as { name: string; machineType: string };
      if ([...machines.values()].some((machine) => machine.name === name)) return send(409, {});
      const id = `m${++made}`;
      const folder = path.join(root, id);
      mkdirSync(path.join(folder, 'workspace'), { recursive: true });
      machines.set(id, { id, name, folder, machineType, state: 'running' });
      return send(201, shown(machines.get(id)!));
    }
    const suffix = /\/(?:resume|stop|files)$/.exec(url.pathname)?.[0] ?? '';
    const machine = machineOf(url.pathname, suffix);
    if (machine === null) return send(404, {});
    if (suffix === '' && request.method === 'GET') return send(200, shown(machine));
    if (suffix === '' && request.method === 'PATCH') {
      if (machine.state !== 'stopped') return send(409, {});
      machine.machineType = json()['machineType'] as string;
      return send(200, shown(machine));
    }
    if (suffix === '' && request.method === 'DELETE') {
      end(machine);
      rmSync(machine.folder, { recursive: true, force: true });
      machines.delete(machine.id);
      return send(200, {});
    }
    if (suffix === '/resume') {
      if (machine.state === 'suspended') signal(machine, 'SIGCONT');
      machine.state = 'running';
      return send(200, {});
    }
    if (suffix === '/stop') {
      const { keepsMemory } = json();
      if (keepsMemory === true) signal(machine, 'SIGSTOP');
      else end(machine);
      machine.state = keepsMemory === true ? 'suspended' : 'stopped';
      return send(200, {});
    }
    writeFileSync(path.join(machine.folder, url.searchParams.get('path')!), body);
    return send(200, {});
  }

  const double: FakeHostedProvider = {
    baseUrl: '',
    requests,
    heard: () => {},
    names: () => [...machines.values()].map(({ name }) => name),
    all: () => [...machines.values()],
    misbehave: (pattern, how, times = 1) => void rules.push({ pattern, how, times }),
    key: { scoped: true, actions: ['sandbox.create', 'exec'], expiresAt: new Date(Date.now() + 2e10).toISOString() },
    keys: [],
    keysMade: {},
    templates: new Map([['node', 's1']]),
    machineTypes: ['small', 'default', 'large'],
    lose(name) {
      const machine = [...machines.values()].find((one) => one.name === name)!;
      end(machine);
      rmSync(machine.folder, { recursive: true, force: true });
      machines.delete(machine.id);
    },
    async close() {
      for (const machine of machines.values()) end(machine);
      server.close();
      server.closeAllConnections();
      for (const client of sockets.clients) client.terminate();
      while (programs.size > 0) await Promise.race([once([...programs][0]!, 'close'), delay(1000)]);
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  Object.assign(double, { baseUrl: `https://localhost:${(server.address() as AddressInfo).port}` });
  return double;
}

function headOf({ method, url, rawHeaders }: IncomingMessage): string {
  return [`${method} ${url}`, ...rawHeaders].join('\n');
}

function shown({ id, name, machineType, state }: Machine): object {
  return { id, name, machineType, state };
}

/** In memory, of one machine. */
function secretsOf(folder: string): string {
  return `/dev/shm/${path.basename(path.dirname(folder))}-${path.basename(folder)}`;
}

/** Its processes end, and what is in its memory is gone. */
function end(machine: Machine): void {
  signal(machine, 'SIGKILL');
  rmSync(secretsOf(machine.folder), { recursive: true, force: true });
}

/** To everything that a machine runs, until nothing new appears. */
function signal({ folder }: Machine, name: NodeJS.Signals): void {
  const seen = new Set<number>();
  for (let found = true; found;) {
    found = false;
    for (const entry of readdirSync('/proc')) {
      const pid = Number(entry);
      if (!Number.isInteger(pid) || seen.has(pid)) continue;
      try {
        if (!readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`HOME=${folder}\0`)) continue;
        process.kill(pid, name);
        seen.add(pid);
        found = true;
      } catch {
        // Ended meanwhile, or another user's.
      }
    }
  }
}

/** A backend over the double. */
export async function openFakeHostedBackend(
  provider: FakeHostedProvider,
  given: { readonly environment?: Readonly<Record<string, string>>; readonly report?: (message: string) => void } = {},
): Promise<SandboxBackend> {
  const settings = hostedSettings({
    HOSTED_BASE_URL: provider.baseUrl,
    HOSTED_API_KEY: API_KEY,
    HOSTED_ORG: ORGANIZATION,
    SANDBOX_AI_URL: 'https://api.example.com/ai',
    ...given.environment,
  });
  return openHostedBackend({
    provider: openProviderApi({ ...settings, certificateAuthority: CERTIFICATE, answerMs: ANSWER_MS }),
    settings,
    program: hostedProgram(),
    installation: 'test',
    startMsMax: 10_000,
    report: given.report ?? (() => {}),
  });
}
