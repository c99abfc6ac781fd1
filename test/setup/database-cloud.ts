// A libSQL cloud for tests: the management API, and one server a database that speaks Hrana over HTTP, over better-sqlite3. It
// keeps to the wire only; it shares no code with the store that it tests.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Database from 'better-sqlite3';

/** A cloud under test. */
export interface TestDatabaseCloud {
  readonly apiUrl: string;
  readonly apiToken: string;
  readonly groupToken: string;
  /** What was asked of the management API. */ readonly calls: string[];
  /** Names of the databases. */ readonly databases: Map<string, { readonly host: string; readonly db: Database.Database }>;
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

type Condition = { type: 'ok' | 'error'; step: number } | { type: 'not'; cond: Condition };

export async function startDatabaseCloud(): Promise<TestDatabaseCloud> {
  const apiToken = 'api-token-of-the-operator';
  const groupToken = 'group-token-of-the-operator';
  const calls: string[] = [];
  const groups = new Set<string>();
  const databases: TestDatabaseCloud['databases'] = new Map();
  const servers: Server[] = [];
  let failing: number | null = null;

  async function serve(
    token: string,
    handle: (request: IncomingMessage, body: string) => Promise<{ status: number; body: unknown }> | { status: number; body: unknown },
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
    const db = new Database(from === null ? ':memory:' : databases.get(from)!.db.serialize());
    db.pragma('foreign_keys = ON');
    // Streams are told apart by their baton; one of them at a time holds the only connection.
    const streams = new Set<string>();
    const host = await serve(groupToken, (request, body) => {
      if (request.url === '/dump') return { status: 200, body: db.serialize() };
      if (request.url !== '/v2/pipeline') return { status: 404, body: {} };
      const { baton, requests } = JSON.parse(body) as {
        baton: string | null;
        requests: { type: string; stmt: Statement; batch: { steps: { stmt: Statement; condition?: Condition }[] } }[];
      };
      if (baton !== null && !streams.delete(baton)) return { status: 400, body: { message: 'The stream has expired' } };
      let isOpen = true;
      const results = requests.map((asked) => {
        try {
          if (asked.type === 'execute') return { type: 'ok', response: { type: 'execute', result: execute(db, asked.stmt) } };
          if (asked.type === 'batch') return { type: 'ok', response: { type: 'batch', result: batch(db, asked.batch.steps) } };
          if (asked.type !== 'close') throw new Error(`The double knows no ${asked.type}`);
          isOpen = false;
          if (db.inTransaction) db.exec('ROLLBACK');
          return { type: 'ok', response: { type: 'close' } };
        } catch (error) {
          return { type: 'error', error: toError(error) };
        }
      });
      const next = isOpen ? randomUUID() : null;
      if (next !== null) streams.add(next);
      return { status: 200, body: { baton: next, base_url: null, results } };
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
        body: { database: { DbId: randomUUID(), Name: given.name, Hostname: await create(given.name, given.seed?.name ?? null) } },
      };
    }
    const name = /^\/databases\/([a-z0-9-]+)$/.exec(path)?.[1] ?? '';
    const found = databases.get(name);
    if (found === undefined) return { status: 404, body: { error: 'database not found' } };
    if (request.method === 'DELETE') {
      databases.delete(name);
      found.db.close();
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
      for (const { db } of databases.values()) db.close();
    },
  };
}

function execute(db: Database.Database, { sql, args = [] }: Statement): unknown {
  const statement = db.prepare(sql).safeIntegers();
  const values = args.map(fromValue);
  // better-sqlite3 takes numbered parameters by name only.
  const bound = /\?\d/.test(sql) ? [Object.fromEntries(values.map((value, index) => [String(index + 1), value]))] : values;
  const changes = (): bigint => db.prepare('SELECT total_changes()').safeIntegers().pluck().get() as bigint;
  const before = changes();
  if (!statement.reader) {
    const { changes: changed, lastInsertRowid } = statement.run(...bound);
    return { cols: [], rows: [], affected_row_count: changes() === before ? 0 : changed, last_insert_rowid: String(lastInsertRowid) };
  }
  const rows = statement.raw().all(...bound) as unknown[][];
  return {
    cols: statement.columns().map(({ name }) => ({ name })),
    rows: rows.map((row) => row.map(toValue)),
    affected_row_count: Number(changes() - before),
    last_insert_rowid: String(db.prepare('SELECT last_insert_rowid()').pluck().get()),
  };
}

function batch(db: Database.Database, steps: { stmt: Statement; condition?: Condition }[]): unknown {
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
      if (condition === undefined || holds(condition)) result = execute(db, stmt);
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
