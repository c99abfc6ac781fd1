// A libSQL cloud for tests: the management API, and one server a database that speaks Hrana over HTTP, over
// better-sqlite3. It keeps to the wire only; it shares no code with the store that it tests.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';

/** A cloud under test. */
export interface TestDatabaseCloud {
  readonly apiUrl: string;
  readonly apiToken: string;
  readonly groupToken: string;
  /** What was asked of the management API. */
  readonly calls: string[];
  /** Names of the databases. */
  readonly databases: Map<string, { readonly host: string; readonly db: Database.Database }>;
  /** Answers of all servers from now on; null: as they should be. */
  failWith(status: number | null): void;
  close(): Promise<void>;
}

interface Value {
  type: string;
  value?: string | number;
  base64?: string;
}

interface Statement {
  sql: string;
  args?: Value[];
}

interface Step {
  stmt: Statement;
  condition?: Condition;
}

interface Asked {
  type: string;
  stmt: Statement;
  batch: { steps: Step[] };
}

type Condition = { type: 'ok' | 'error'; step: number } | { type: 'not'; cond: Condition };

/** What the operator sets to use it. */
export function cloudEnvironment(cloud: TestDatabaseCloud): Record<string, string> {
  return {
    DBCLOUD_ORGANIZATION: 'acme',
    DBCLOUD_GROUP_NAME: 'default',
    DBCLOUD_PRIMARY_LOCATION: 'fra',
    DBCLOUD_DATABASE_PREFIX: 'apps',
    DBCLOUD_API_TOKEN: cloud.apiToken,
    DBCLOUD_GROUP_AUTH_TOKEN: cloud.groupToken,
    DBCLOUD_API_URL: cloud.apiUrl,
    DBCLOUD_PITR_RETENTION_DAYS: '10',
  };
}

export async function startDatabaseCloud(): Promise<TestDatabaseCloud> {
  const apiToken = 'api-token-of-the-operator';
  const groupToken = 'group-token-of-the-operator';
  const calls: string[] = [];
  const groups = new Set<string>();
  const databases: TestDatabaseCloud['databases'] = new Map();
  const servers: Server[] = [];
  const closing: (() => void)[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  let failing: number | null = null;

  async function serve(
    token: string,
    handle: (
      request: IncomingMessage,
      body: string,
    ) => Promise<{ status: number; body: unknown }> | { status: number; body: unknown },
  ): Promise<string> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const isKnown = request.headers.authorization === `Bearer ${token}`;
        const answer =
          failing !== null
            ? { status: failing, body: { error: 'out of order' } }
            : isKnown
              ? handle(request, Buffer.concat(chunks).toString())
              : { status: 401, body: { error: 'unauthorized' } };
        void Promise.resolve(answer).then(({ status, body }) => {
          response.writeHead(status, { connection: 'close' });
          response.end(body instanceof Uint8Array ? body : JSON.stringify(body));
        });
      });
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async function create(name: string, from: string | null): Promise<string> {
    const file = join(folder, `${name}.sqlite`);
    if (from !== null) writeFileSync(file, databases.get(from)!.db.serialize());
    const connect = (): Database.Database => {
      const connection = new Database(file, { timeout: 0 });
      connection.pragma('journal_mode = WAL');
      connection.pragma('foreign_keys = ON');
      return connection;
    };
    const db = connect();
    // A stream is a connection of its own; its baton says which.
    const streams = new Map<string, Database.Database>();
    const host = await serve(groupToken, async (request, body) => {
      if (request.url === '/dump') return { status: 200, body: db.serialize() };
      if (request.url !== '/v2/pipeline') return { status: 404, body: {} };
      const { baton, requests } = JSON.parse(body) as { baton: string | null; requests: Asked[] };
      const stream = baton === null ? connect() : streams.get(baton);
      if (stream === undefined) return { status: 400, body: { message: 'The stream has expired' } };
      if (baton !== null) streams.delete(baton);
      const results: unknown[] = [];
      for (const asked of requests) {
        try {
          results.push({ type: 'ok', response: { type: asked.type, result: await perform(stream, asked) } });
        } catch (error) {
          results.push({ type: 'error', error: toError(error) });
        }
      }
      const next = stream.open ? randomUUID() : null;
      if (next !== null) streams.set(next, stream);
      return { status: 200, body: { baton: next, base_url: null, results } };
    });
    closing.push(() => {
      for (const connection of [db, ...streams.values()]) connection.close();
    });
    databases.set(name, { host, db });
    return host;
  }

  const host = await serve(apiToken, async (request, body) => {
    const path = (request.url ?? '').replace('/v1/organizations/acme', '');
    calls.push(`${request.method} ${path}`);
    const given = (body === '' ? {} : JSON.parse(body)) as { name: string; group: string; seed?: { name: string } };
    if (request.method === 'POST' && path === '/groups') {
      groups.add(given.name);
      return { status: 200, body: { group: { name: given.name } } };
    }
    if (request.method === 'POST' && path === '/databases') {
      if (!groups.has(given.group)) return { status: 400, body: { error: 'group not found' } };
      if (databases.has(given.name)) return { status: 409, body: { error: 'database already exists' } };
      if (!/^[a-z0-9-]{1,64}$/.test(given.name)) return { status: 400, body: { error: 'bad name' } };
      return {
        status: 200,
        body: {
          database: {
            DbId: randomUUID(),
            Name: given.name,
            Hostname: await create(given.name, given.seed?.name ?? null),
          },
        },
      };
    }
    const name = /^\/databases\/([a-z0-9-]+)$/.exec(path)?.[1] ?? '';
    const found = databases.get(name);
    if (found === undefined) return { status: 404, body: { error: 'database not found' } };
    if (request.method === 'DELETE') {
      databases.delete(name);
      for (const part of ['', '-wal', '-shm']) rmSync(join(folder, `${name}.sqlite${part}`), { force: true });
      return { status: 200, body: { database: name } };
    }
    return { status: 200, body: { database: { Name: name, Hostname: found.host } } };
  });

  return {
    apiUrl: `http://${host}`,
    apiToken,
    groupToken,
    calls,
    databases,
    failWith: (status) => void (failing = status),
    async close() {
      for (const server of servers) server.closeAllConnections();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
      for (const close of closing) close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function perform(stream: Database.Database, asked: Asked): Promise<unknown> {
  if (asked.type === 'execute') return patiently(() => execute(stream, asked.stmt));
  if (asked.type === 'batch') return batch(stream, asked.batch.steps);
  if (asked.type !== 'close') throw new Error(`The double knows no ${asked.type}`);
  // Rolls back what is open.
  stream.close();
  return undefined;
}

/** Waits for a lock as a server does, without holding up other streams. */
async function patiently<Result>(run: () => Result): Promise<Result> {
  for (;;) {
    try {
      return run();
    } catch (error) {
      if (!String((error as { code?: string }).code).startsWith('SQLITE_BUSY')) throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Servers are built without `LIMIT` for changes; better-sqlite3 is built with it. */
function refuseLimit(sql: string): void {
  let text = sql.replaceAll(/`[^`]*`|'[^']*'|"[^"]*"|--.*/g, 'x');
  for (let before = ''; before !== text;) text = (before = text).replaceAll(/\([^()]*\)/g, 'x');
  const word = /^\s*(?:WITH\b.*?\b)?(?:UPDATE|DELETE)\b.*?\b(LIMIT|ORDER)\b/is.exec(text)?.[1];
  if (word !== undefined) throw Object.assign(new Error(`near "${word}": syntax error`), { code: 'SQLITE_ERROR' });
}

function execute(db: Database.Database, { sql, args = [] }: Statement): unknown {
  refuseLimit(sql);
  const statement = db.prepare(sql).safeIntegers();
  const values = args.map(fromValue);
  // better-sqlite3 takes numbered parameters by name only.
  const bound = /\?\d/.test(sql)
    ? [Object.fromEntries(values.map((value, index) => [String(index + 1), value]))]
    : values;
  const changes = (): bigint => db.prepare('SELECT total_changes()').safeIntegers().pluck().get() as bigint;
  const before = changes();
  if (!statement.reader) {
    const { changes: changed, lastInsertRowid } = statement.run(...bound);
    return {
      cols: [],
      rows: [],
      affected_row_count: changes() === before ? 0 : changed,
      last_insert_rowid: String(lastInsertRowid),
    };
  }
  const rows = statement.raw().all(...bound) as unknown[][];
  return {
    cols: statement.columns().map(({ name }) => ({ name })),
    rows: rows.map((row) => row.map(toValue)),
    affected_row_count: Number(changes() - before),
    last_insert_rowid: String(db.prepare('SELECT last_insert_rowid()').pluck().get()),
  };
}

async function batch(db: Database.Database, steps: readonly Step[]): Promise<unknown> {
  const step_results: unknown[] = [];
  const step_errors: unknown[] = [];
  const holds = (condition: Condition): boolean =>
    condition.type === 'not'
      ? !holds(condition.cond)
      : condition.type === 'ok'
        ? step_results[condition.step] != null
        : step_errors[condition.step] != null;
  for (const { stmt, condition } of steps) {
    let result: unknown = null;
    let error: unknown = null;
    try {
      if (condition === undefined || holds(condition)) result = await patiently(() => execute(db, stmt));
    } catch (thrown) {
      error = toError(thrown);
    }
    step_results.push(result);
    step_errors.push(error);
  }
  return { step_results, step_errors };
}

function fromValue({ type, value, base64 }: Value): unknown {
  if (type === 'integer') return BigInt(value as string);
  if (type === 'blob') return Buffer.from(base64 as string, 'base64');
  return type === 'null' ? null : value;
}

function toValue(value: unknown): Value {
  if (value === null) return { type: 'null' };
  if (typeof value === 'bigint') return { type: 'integer', value: String(value) };
  if (typeof value === 'number') return { type: 'float', value };
  return typeof value === 'string'
    ? { type: 'text', value }
    : { type: 'blob', base64: (value as Buffer).toString('base64').replace(/=+$/, '') };
}

function toError(error: unknown): { message: string; code: string } {
  const { message, code } = error as { message: string; code?: string };
  return { message: `SQLite error: ${message}`, code: code ?? 'SQLITE_ERROR' };
}
