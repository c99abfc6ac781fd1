// Pools of connections to Postgres servers: `hyperdrive` in platform.yaml.

/** A TCP socket, as `connect` of `cloudflare:sockets` returns it. */
export interface PoolSocket {
  get readable(): ReadableStream;
  get writable(): WritableStream;
  get opened(): Promise<{ remoteAddress?: string; localAddress?: string }>;
  get closed(): Promise<void>;
  get upgraded(): boolean;
  get secureTransport(): 'on' | 'off' | 'starttls';
  close(): Promise<void>;
  /** Throws: a pool takes no TLS. */
  startTls(options?: object): PoolSocket;
}

/**
 * A pool: the values that a Postgres client needs to connect to it. Host and password connect to the pool only in this
 * worker.
 *
 * @example const client = new pg.Client({ connectionString: env.PG.connectionString });
 */
export interface Hyperdrive {
  readonly connectionString: string;
  readonly host: string;
  /** An address for clients that do not accept a host name. */
  readonly ip: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Opens a socket to the pool, as `connect()` with `host` and `port` does. */
  connect(): PoolSocket;
}
