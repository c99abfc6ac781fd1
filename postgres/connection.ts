// Connections to Postgres, embedded or external, with the library `pg`: only this file handles its settings and quirks.
// Used by migrate.ts, by the roots, and by the stores through their `Postgres`.
import type { Socket } from 'node:net';
import pg from 'pg';
import { toAddress, type Address } from './address.ts';
import { primaryOf, type Primary } from './primary.ts';
import {
  internal,
  isConnectionError,
  isStale,
  isWithoutTls,
  postgresError,
  toPostgresError,
  type PostgresError,
} from './postgres-error.ts';

/** Parameter values: an array if the statement expects one (`$1::text[]`). */
export type PostgresValue =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | readonly (string | number | boolean | null | Uint8Array)[];

/** Runs statements with parameters `$1`, `$2`...; int8 columns are numbers, bytea are Buffers. */
export interface Statements {
  /** @throws {PostgresError} */
  all<Row = Record<string, unknown>>(text: string, ...parameters: readonly PostgresValue[]): Promise<Row[]>;
}

/** A connection of the pool, reserved until the work is done. */
export interface Session extends Statements {
  /** Runs a script of statements. @returns the server's command tag of the last statement (`COMMIT`). */
  script(text: string): Promise<string>;
}

/** A pool of connections. Each statement of `all` is a separate transaction, on any free connection. */
export interface Postgres extends Statements {
  session<Result>(work: (session: Session) => Promise<Result>): Promise<Result>;
  /** Runs `work` in a transaction; rolls back if it throws. */
  transaction<Result>(work: (session: Session) => Promise<Result>): Promise<Result>;
  /** Waits for running statements up to this time, then cancels them. */
  close(msMax?: number): Promise<void>;
}

/** Options of a pool. */
export interface ConnectionOptions {
  /**
   * `postgres://user:password@host:port/database`; the folder of a Unix socket is `host` in its query, as in libpq.
   * Several hosts: core/database-url.ts.
   */
  readonly url: string;
  /** Shown by the server in `pg_stat_activity`. */
  readonly name: string;
  /** Maximum number of connections. */
  readonly connectionsMax?: number;
  /** Statement timeout. */
  readonly statementMs?: number;
  /** Default schema; `public` by default. */
  readonly schema?: string;
  /** Additional settings of each session. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Connect timeout. */
  readonly connectMs?: number;
}

/**
 * Pause after a failed connection attempt, doubled each time. Short, because a restarted server is available again
 * quickly.
 */
const [awayMsLeast, awayMsMax] = [10, 320];
const KEEP_ALIVE_MS = 60_000;
/**
 * The backend of an idle connection uses 3 MB. Each pool keeps one connection open, so that a single statement does not
 * have to connect.
 */
const [IDLE_MS, IDLE_MIN] = [30_000, 1];
const CLOSE_MS_MAX = 5000;
/** Limit for statements waiting for a connection; further statements are refused. */
const WAITING_MAX = 20_000;
/** Maximum number of cached prepared statements; the stores use only a few fixed texts. */
const NAMES_MAX = 400;
const INT8 = 20;

/** A connection whose errors never reach the process when the server dies. */
export class Connection extends pg.Client {
  /** Whether the connection can no longer be used. */
  isLost = false;
  readonly #primary: Primary | null;

  constructor(address: Address, { name, connectMs = 5000 }: ConnectionOptions) {
    super({
      ...address,
      application_name: name,
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      types: {
        getTypeParser: ((type: number, format: 'text') =>
          type === INT8 ? Number : pg.types.getTypeParser(type, format)) as never,
      },
    });
    this.#primary = primaryOf(address);
    this.on('error', () => (this.isLost = true));
    this.on('end', () => (this.isLost = true));
  }

  /** Connects to the host that accepts writes, if the URL requests it. */
  override connect(told?: unknown): never {
    const tell = told as ((error: Error | null) => void) | undefined;
    if (this.#primary === null) return super.connect(tell as never) as never;
    const found = this.#useHost(this.#primary);
    if (tell === undefined) return found.then(() => super.connect()) as never;
    return void found.then(
      () => super.connect(tell),
      (error: Error) => tell(error),
    ) as never;
  }

  async #useHost(primary: Primary): Promise<void> {
    const host = await primary.find();
    Object.assign(this, host);
    primary.hold(host, this.connection.stream as Socket);
  }
}

/** A named prepared statement. A class avoids the library's copy of an options object, which takes 5 of 40 us. */
class Prepared extends pg.Query {
  name: string | undefined;

  constructor(
    name: string | undefined,
    text: string,
    values: PostgresValue[],
    callback: (error: Error | null, result: { readonly rows: never[] }) => void,
  ) {
    super(text, values, callback as never);
    this.name = name;
  }
}

/** The address that the options of a pool describe. @throws {Error} when the URL is not a Postgres URL. */
export function addressOf({ url, statementMs = 30_000, schema = 'public', settings }: ConnectionOptions): Address {
  return toAddress(url, { statement_timeout: String(statementMs), TimeZone: 'UTC', search_path: schema, ...settings });
}

/**
 * Removes TLS from an address whose server has none, if its URL allows that, so that another attempt can be made. The
 * library itself has no `sslmode=prefer`.
 */
export function dropTls(address: Address, error: unknown): boolean {
  if (!address.isTlsOptional || !isWithoutTls(error)) return false;
  address.ssl = false;
  return true;
}

/**
 * Opens a pool. The pool connects with the first statement, and reconnects with the next statement after a lost
 * connection.
 */
export function openPostgres(options: ConnectionOptions): Postgres {
  const address = addressOf(options);
  const connections = new Set<Connection>();
  let [live, failures, awayUntil] = [0, 0, -Infinity];
  let away: Error | null = null;
  const pool = new pg.Pool({
    max: options.connectionsMax ?? 10,
    min: IDLE_MIN,
    idleTimeoutMillis: IDLE_MS,
    Client: class extends Connection {
      constructor() {
        super(address, options);
      }

      /**
       * Called by the pool. If the server is unavailable, all waiting statements fail immediately, instead of one
       * attempt after the other.
       */
      override connect(told?: unknown): never {
        const tell = told as (error: Error | null) => void;
        if (live === 0 && performance.now() < awayUntil) return queueMicrotask(() => tell(away)) as never;
        connections.add(this);
        this.on('end', () => connections.delete(this));
        return super.connect((error: Error | null) => {
          if (error === null) {
            failures = 0;
            live++;
            this.on('end', () => live--);
          } else if (!dropTls(address, error)) {
            awayUntil = performance.now() + Math.min(awayMsMax, awayMsLeast * 2 ** Math.min(failures++, 10));
            away = error;
          }
          tell(error);
        }) as never;
      }
    },
  });
  // An idle connection was lost: the next statement uses another connection.
  pool.on('error', () => {});
  const names = new Map<string, string>();
  /** Statements and sessions. */
  let running = 0;
  let isClosing = false;
  let isOver = false;
  let idle: (() => void) | null = null;

  function done(release: (error?: boolean) => void, isLost: boolean): void {
    release(isLost);
    ended();
  }

  function ended(): void {
    if (--running === 0) idle?.();
  }

  /** Takes a connection from the pool. The callback must call `release` once. */
  function take(
    use: (connection: Connection, release: (isLost: boolean) => void) => void,
    reject: (error: unknown) => void,
  ): void {
    if (isClosing) return reject(over());
    if (pool.waitingCount >= WAITING_MAX)
      return reject(
        postgresError('53300', `More than ${WAITING_MAX} statements wait for a connection to the database`),
      );
    running++;
    connect();

    function connect(): void {
      pool.connect((error, connection, release) => {
        if (connection !== undefined && !isOver)
          return use(connection as unknown as Connection, (isLost) => done(release, isLost));
        if (connection !== undefined) release();
        else if (!isOver && dropTls(address, error)) return connect();
        ended();
        reject(isOver ? over() : toPostgresError(error, true));
      });
    }
  }

  /** The name of a prepared statement. */
  function nameOf(text: string): string | undefined {
    let name = names.get(text);
    if (name === undefined && names.size < NAMES_MAX) names.set(text, (name = `s${names.size + 1}`));
    return name;
  }

  function run(
    connection: Connection,
    text: string,
    values: PostgresValue[],
    settle: (error: PostgresError | null, rows: never[]) => void,
  ): void {
    connection.query(
      new Prepared(nameOf(text), text, values, (error, result) => {
        if (error == null) settle(null, result.rows);
        else settle(toPostgresError(error, connection.isLost), []);
      }),
    );
  }

  function all<Row>(text: string, ...parameters: readonly PostgresValue[]): Promise<Row[]> {
    const values = parameters as PostgresValue[];
    return new Promise((resolve, reject) => {
      take((connection, release) => {
        run(connection, text, values, (error, rows) => {
          if (error === null) {
            release(false);
            resolve(rows);
          } else if (isStale(error)) {
            // The tables have changed since the statement was prepared, so the statement had no effect.
            connection.query(
              new Prepared(undefined, text, values, (again, result) => {
                release(true);
                if (again == null) resolve(result.rows);
                else reject(toPostgresError(again, connection.isLost));
              }),
            );
          } else {
            release(connection.isLost || isUnsafe(error));
            reject(error);
          }
        });
      }, reject);
    });
  }

  async function session<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    let isSpoiled = false;
    const [connection, release] = await new Promise<[Connection, (isLost: boolean) => void]>((resolve, reject) =>
      take((...taken) => resolve(taken), reject),
    );
    const spoilt = (error: PostgresError): PostgresError => {
      isSpoiled ||= isUnsafe(error) || isStale(error);
      return error;
    };
    try {
      return await work({
        all: (text, ...parameters) =>
          new Promise((resolve, reject) => {
            run(connection, text, parameters as PostgresValue[], (error, rows) =>
              error === null ? resolve(rows) : reject(spoilt(error)),
            );
          }),
        script: (text) =>
          new Promise((resolve, reject) => {
            connection.query(text, (error, result) => {
              if ((error as Error | null) != null) reject(spoilt(toPostgresError(error, connection.isLost)));
              else resolve((Array.isArray(result) ? (result.at(-1) as typeof result) : result).command);
            });
          }),
      });
    } finally {
      release(connection.isLost || isSpoiled || connection.getTransactionStatus() !== 'I');
    }
  }

  return {
    all,
    session,
    transaction: (work) =>
      session(async (on) => {
        await on.script('BEGIN');
        let result;
        try {
          result = await work(on);
        } catch (error) {
          // If the rollback fails, the connection is lost, and so is the transaction.
          await on.script('ROLLBACK').catch(() => {});
          throw error;
        }
        if ((await on.script('COMMIT')) !== 'COMMIT')
          throw postgresError('25P02', 'A statement of the transaction had failed');
        return result;
      }),
    async close(msMax = CLOSE_MS_MAX) {
      if (isClosing) return;
      isClosing = true;
      if (running > 0) {
        const none = new Promise<void>((resolve) => (idle = resolve));
        const late = setTimeout(() => {
          isOver = true;
          for (const connection of connections) connection.connection.stream.destroy();
        }, msMax);
        await none;
        clearTimeout(late);
      }
      await pool.end();
    },
  };
}

function over(): PostgresError {
  return postgresError('CONNECTION_ENDED', 'The connection to the database was ended');
}

/** Errors after which a connection is not reused. */
function isUnsafe(error: PostgresError): boolean {
  return isConnectionError(error) || error.code === internal;
}
