// Postgres for the control plane and the builder, over the library `postgres`: tagged templates, and LISTEN that
// reconnects. Engines and the broker use connection.ts.
import { connect, Socket } from 'node:net';
import type { PendingQuery, Row, Sql as LibrarySql, TransactionSql } from 'postgres';
import { toAddress } from './address.ts';
import type { Statements } from './connection.ts';
import { postgres } from './driver.ts';
import { primaryOf, type Primary } from './primary.ts';

/** Runs statements: `sql\`SELECT ... ${value}\``; `sql.begin` is a transaction, `sql.listen` receives NOTIFY. */
export type Sql = LibrarySql<{ bigint: number }>;
/** Like {@link Sql}, inside a transaction. */
export type Transaction = TransactionSql<{ bigint: number }>;

/** Part of a statement. */
export type Fragment = PendingQuery<Row[]>;

/** Statements with `$1`, `$2`..., for code that also works with connection.ts. */
export function statementsOf(tx: Transaction | Sql): Statements {
  return { all: (text, ...parameters) => tx.unsafe(text, parameters as never) as never };
}

interface SqlOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Shown by the server in `pg_stat_activity`. */
  readonly name: string;
  /** Maximum number of connections; 8 by default. */
  readonly connectionsMax?: number;
  /** When a connection is replaced; {@link LIFE_SECONDS} by default. */
  readonly lifeSeconds?: number;
}

const CONNECT_SECONDS = 5;
const IDLE_SECONDS = 60;
/**
 * The library uses idle connections in turn, so polls keep every connection alive that was opened at the start. The API
 * process kept eight connections for an hour, each with 4 MB in Postgres, but needs two or three
 * (`BENCH_SETTLE_SECONDS=330 npm run bench idle`).
 */
const LIFE_SECONDS = 300;
const STATEMENT_MS = 30_000;
/** Bounds of the pause between connection attempts. Short, because a restarted server is available again quickly. */
const [BACKOFF_SECONDS_LEAST, BACKOFF_SECONDS_MAX] = [0.05, 1];

/**
 * A pool of connections, opened on demand. int8 columns are numbers, timestamps are Dates.
 *
 * @example const sql = openSql({ url, name: 'platform api' }); const [project] = await sql<{ name: string }[]>`SELECT
 * name FROM control.project WHERE id = ${id}`;
 */
export function openSql({ url, name, connectionsMax = 8, lifeSeconds = LIFE_SECONDS }: SqlOptions): Sql {
  // The library does not support all query parameters of libpq's URLs, such as the folder of a Unix socket.
  const address = toAddress(url, {});
  const { host, port, user, password, database, ssl } = address;
  const primary = primaryOf(address);
  return postgres({
    host: host ?? 'localhost',
    port: port ?? 5432,
    ...(user !== undefined && { user }),
    ...(typeof password === 'string' && { password }),
    ...(database !== undefined && { database }),
    ssl: ssl === true ? {} : ssl,
    ...(primary !== null && { socket: () => connectTo(primary) }),
    max: connectionsMax,
    connect_timeout: CONNECT_SECONDS,
    idle_timeout: IDLE_SECONDS,
    max_lifetime: lifeSeconds,
    backoff: (failures) => Math.min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS_LEAST * 2 ** failures),
    connection: { application_name: name, statement_timeout: STATEMENT_MS },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
    onnotice: () => {},
  });
}

/**
 * A socket to the host that accepts writes. The library never releases the slot of a connection whose socket throws.
 */
async function connectTo(primary: Primary): Promise<Socket> {
  try {
    const host = await primary.find();
    const socket = Object.assign(connect(host), host);
    primary.hold(host, socket);
    return socket;
  } catch (error) {
    const socket = new Socket();
    setImmediate(() => socket.destroy(error as Error));
    return socket;
  }
}
