// Connections to Postgres, embedded or external: the one place that knows the driver's settings. Used by migrate.ts, by the
// roots, and by the stores through the `Postgres` they are given.
import postgres from 'postgres';

/** A pool of connections; `sql` of the driver with the types of ours: int8 is a number. */
export type Postgres = postgres.Sql<{ bigint: number }>;
/** What runs inside `begin`. */
export type Transaction = postgres.TransactionSql<{ bigint: number }>;

/** How a pool behaves. */
export interface ConnectionOptions {
  /** `postgres://user:password@host:port/database`; a folder of a Unix socket goes into its query as `host`, as libpq has it. */
  readonly url: string;
  /** What the server shows in `pg_stat_activity`. */
  readonly name: string;
  /** Connections at most. */
  readonly connectionsMax?: number;
  /** A statement that runs longer is ended by the server. */
  readonly statementMs?: number;
  /** Where names without a schema are looked up; `public` by default. */
  readonly schema?: string;
}

/** Opens a pool. Nothing is connected before the first statement, and what is lost is connected again by the next one. */
export function openPostgres({ url, name, connectionsMax = 10, statementMs = 30_000, schema = 'public' }: ConnectionOptions): Postgres {
  const { address, socketFolder } = splitUrl(url);
  return postgres(address, {
    ...(socketFolder === null ? {} : { host: socketFolder, port: 5432 }),
    max: connectionsMax,
    connect_timeout: 5,
    idle_timeout: 300,
    max_lifetime: null,
    // A server that restarts is back in well under a second.
    backoff: (retries: number) => Math.min(1, 0.02 * 2 ** Math.min(retries, 6)),
    // Without it, the driver never resolves a `reserve` that has to connect first.
    fetch_types: true,
    onnotice: () => {},
    connection: { application_name: name, statement_timeout: statementMs, TimeZone: 'UTC', search_path: schema },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  }) as unknown as Postgres;
}

/** A URL without libpq's `host` parameter, which the driver does not know, and the folder of a Unix socket that it named. */
export function splitUrl(url: string): { address: string; socketFolder: string | null } {
  const parsed = URL.parse(url);
  if (parsed === null || !/^postgres(?:ql)?:$/.test(parsed.protocol))
    throw new Error('The connection URL of the database must have the form postgres://user:password@host:port/database');
  const socketFolder = parsed.searchParams.get('host');
  parsed.searchParams.delete('host');
  return { address: parsed.href, socketFolder: socketFolder?.startsWith('/') === true ? socketFolder : null };
}

/** The same address as another user. */
export function urlAs(url: string, user: string, password: string): string {
  const parsed = new URL(url);
  parsed.username = user;
  parsed.password = password;
  return parsed.href;
}

/** The same server, another database. */
export function urlOfDatabase(url: string, database: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${database}`;
  return parsed.href;
}

/** SQLSTATE of an error, or the driver's own code (`CONNECTION_CLOSED`, `ECONNREFUSED`). */
export function sqlState(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** Whether the server is away, or was while the statement ran: the same may succeed in a moment. */
export function isConnectionTrouble(error: unknown): boolean {
  const state = sqlState(error);
  return /^(?:08...|57P0[1-3]|CONNECT\w*|CONNECTION_\w+|ECONN\w+|ENOENT|EPIPE|ETIMEDOUT)$/.test(state);
}
