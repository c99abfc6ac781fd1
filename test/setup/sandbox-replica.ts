// A replica of the sandbox service over Postgres, whose machines are processes of this machine; and calls of it.
import { createServer, request, type IncomingMessage } from 'node:http';
import { createServer as createSocketServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { text } from 'node:stream/consumers';
import { createBearerCheck } from '#core/process/bearer.ts';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { createLocalBackend } from '#sandbox/backends/local/local.ts';
import { createExposedPorts } from '#sandbox/routes/exposed-ports.ts';
import { createSandboxRoutes } from '#sandbox/routes/routes.ts';
import { createPostgresPorts } from '#sandbox/service/exposed-ports-postgres.ts';
import { createReplicas, ownerName, reachReplica } from '#sandbox/service/replicas.ts';
import { createPostgresRows } from '#sandbox/service/rows-postgres.ts';
import { startSandboxes } from '#sandbox/service/sandboxes.ts';

export const TOKEN = 'fa02c1d4e5b6978812345678deadbeef';
const LONG_MS = 600_000;

interface CallOptions {
  readonly method?: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Replica {
  readonly owner: string;
  readonly port: number;
  readonly held: () => number;
  /** @param path after `/v1/projects/shop/sandboxes`. */
  raw(path: string, options?: CallOptions): Promise<IncomingMessage>;
  /** A visit of the exposed port of this name. */
  visit(name: string, options: CallOptions): Promise<IncomingMessage>;
  /** Status, and the body as JSON. */
  call(path: string, options?: CallOptions): Promise<[status: number, body: unknown]>;
  exec(id: string, command: string): Promise<unknown>;
  /** Ends what goes on over its connections. */
  cut(): void;
  close(): Promise<void>;
}

export async function startReplica(given: {
  readonly url: string;
  readonly folder: string;
  readonly name: string;
  readonly waitMs?: number;
  readonly startMs?: number;
  readonly sweepMs?: number;
}): Promise<Replica> {
  const { url, folder, name, waitMs = LONG_MS, startMs = LONG_MS, sweepMs = LONG_MS } = given;
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const owner = ownerName(name, `http://127.0.0.1:${port}`);
  const times = { idleMs: LONG_MS, stopMs: LONG_MS, destroyMs: LONG_MS };
  const sql = openPostgres({ url, name: 'test', connectionsMax: 2 });
  const sandboxes = startSandboxes({
    backend: createLocalBackend({ folder, environment: process.env, warn: () => {} }),
    rows: createPostgresRows({
      sql,
      owner,
      provider: 'local',
      perProjectMax: 20,
      leaseMs: LONG_MS,
      times,
    }),
    times,
    leaseMs: LONG_MS,
    sweepMs,
    perProjectMax: 20,
    report: () => {},
  });
  const routes = createSandboxRoutes({
    sandboxes,
    isAuthorized: createBearerCheck(TOKEN),
    callsMax: 20,
    placement: createReplicas({ token: TOKEN, waitMs, startMs }),
    elsewhere: reachReplica,
    ports: {
      exposed: createExposedPorts({ rows: createPostgresPorts(sql), sandboxes, secret: TOKEN }),
      visitsMax: 20,
      idleMs: LONG_MS,
    },
    log: () => {},
  });
  server.on('request', routes).on('checkContinue', routes).on('upgrade', routes.upgrade);

  const ask = async (
    path: string,
    { method = 'POST', body = '{}', headers = {}, signal }: CallOptions,
  ): Promise<IncomingMessage> => {
    const outgoing = request({
      host: '127.0.0.1',
      port,
      path,
      method,
      headers: { authorization: `Bearer ${TOKEN}`, ...headers },
      agent: false,
      ...(signal === undefined ? {} : { signal }),
    });
    outgoing.end(method === 'POST' ? body : undefined);
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    // Whoever reads it hears of it too.
    outgoing.on('error', () => {});
    return answer;
  };
  const raw: Replica['raw'] = (path, options = {}) => ask(`/v1/projects/shop/sandboxes${path}`, options);
  const call: Replica['call'] = async (path, options) => {
    const answer = await raw(path, options);
    return [answer.statusCode!, JSON.parse(await text(answer))];
  };
  return {
    owner,
    port,
    held: () => sandboxes.figures().held,
    raw,
    visit: (name, options) => ask(`/v1/ports/${name}`, options),
    call,
    async exec(id, command) {
      const [status, body] = await call(`/boxes/${id}/exec`, { body: JSON.stringify({ command }) });
      return status === 200 ? (body as { stdout: string }).stdout : body;
    },
    cut: () => server.closeAllConnections(),
    async close() {
      server.close();
      server.closeAllConnections();
      await sandboxes.close();
    },
  };
}

/** A sandbox whose row says that another replica has it, for an hour. */
export async function heldBy(sql: Postgres, owner: string, id: string): Promise<void> {
  await sql.all(
    `INSERT INTO sandbox.sandbox (key, project, resource, id, provider, state, owner, lease_until)
     VALUES ($1, 'shop', 'boxes', $1, 'local', 'creating', $2, now() + interval '1 hour')`,
    id,
    owner,
  );
}

/** A program in place of a replica. */
export async function openOther(
  t: TestContext,
  answer: (socket: Socket) => void,
): Promise<{ owner: string; hits: number }> {
  const server = createSocketServer((socket) => {
    other.hits++;
    socket.on('error', () => {});
    answer(socket);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const other = { owner: `other http://127.0.0.1:${(server.address() as AddressInfo).port}`, hits: 0 };
  t.after(() => void server.close());
  return other;
}
