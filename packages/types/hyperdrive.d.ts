// Pools of connections to Postgres servers: `hyperdrive` in platform.yaml.

/** A TCP socket, as `connect` of `cloudflare:sockets` returns it. */
export interface PoolSocket {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
  readonly opened: Promise<object>;
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/**
 * A pool: what a Postgres client needs to connect to it. Host and password lead to the pool in this worker only.
 *
 * @example const client = new pg.Client({ connectionString: env.PG.connectionString });
 */
export interface Hyperdrive {
  readonly connectionString: string;
  readonly host: string;
  /** For clients that take no host name. */
  readonly ip: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Opens a socket to the pool, as `connect()` with `host` and `port` does. */
  connect(): PoolSocket;
}
