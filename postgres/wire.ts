// A pool of lean connections for statements that stand alone: what the stores of bindings ask for most. Opened by their `Sql`
// (runtime/stores/sql-postgres.ts). Each statement is a transaction of its own; one connection runs one at a time.
import { toWireAddress } from './wire-address.ts';
import { WireConnection, WireError, type WireJob } from './wire-connection.ts';
import type { WireRow, WireValue } from './wire-values.ts';

/** Statements over a pool. */
export interface Wire {
  /** @throws what `errorOf` makes of a {@link WireError}. */
  all<Row = WireRow>(text: string, parameters: readonly WireValue[]): Promise<Row[]>;
  /** Lets what runs end for a moment, then ends it. */
  close(): Promise<void>;
}

/** How a pool behaves. */
export interface WireOptions {
  readonly url: string;
  /** What the server shows in `pg_stat_activity`. */ readonly name: string;
  readonly connectionsMax?: number;
  /** A statement that runs longer is ended by the server. */ readonly statementMs?: number;
  readonly schema?: string;
  /** Further settings of each session. */ readonly settings?: Readonly<Record<string, string>>;
  readonly errorOf?: (error: unknown) => unknown;
}

/** Statements that wait for a connection; beyond, they are refused. */
const waitingMax = 20_000;
const idleMs = 300_000;
const closeMsMax = 5000;
/** After an attempt to connect that failed, the next one waits: twice as long each time. A server that restarts is back in a moment. */
const [backoffMsLeast, backoffMsMax] = [20, 1000];

export function openWire({
  url,
  name,
  connectionsMax = 10,
  statementMs = 30_000,
  schema = 'public',
  settings,
  errorOf = same,
}: WireOptions): Wire {
  const address = toWireAddress(url, {
    application_name: name,
    statement_timeout: String(statementMs),
    TimeZone: 'UTC',
    search_path: schema,
    ...settings,
  });
  const idle: WireConnection[] = [];
  const all = new Set<WireConnection>();
  const waiting: WireJob[] = [];
  let connecting = 0;
  let failures = 0;
  let backingOff: NodeJS.Timeout | null = null;
  let closed: (() => void) | null = null;
  let isClosing = false;

  const opened = new WeakSet<WireConnection>();
  const events = {
    ready(connection: WireConnection): void {
      if (!opened.has(connection)) {
        opened.add(connection);
        connecting--;
        failures = 0;
      }
      const job = waiting.shift();
      if (job !== undefined) return connection.run(job);
      connection.idleSince = performance.now();
      idle.push(connection);
      if (isClosing) closed?.();
    },
    gone(connection: WireConnection, error: WireError): void {
      all.delete(connection);
      const at = idle.indexOf(connection);
      if (at >= 0) idle.splice(at, 1);
      if (!opened.has(connection)) {
        connecting--;
        // Several that fail together are one failure.
        if (connecting === 0) failures++;
        // Who could not connect says so to all that nobody else will serve.
        if (all.size === 0) rejectWaiting(error);
      }
      // Who cannot connect leaves what waits to the others.
      else if (waiting.length > 0) open();
      if (isClosing && all.size === 0) rejectWaiting(error);
      if (isClosing) closed?.();
    },
  };

  function rejectWaiting(error: WireError): void {
    for (const job of waiting.splice(0)) job.reject(error);
  }

  function open(): void {
    if (isClosing || backingOff !== null || all.size >= connectionsMax || connecting >= waiting.length) return;
    if (failures > 0) {
      backingOff = setTimeout(
        () => {
          backingOff = null;
          connect();
        },
        Math.min(backoffMsMax, backoffMsLeast * 2 ** Math.min(failures - 1, 10)),
      );
    } else connect();
  }

  function connect(): void {
    if (isClosing || waiting.length === 0) return;
    connecting++;
    all.add(new WireConnection(address, events));
  }

  // Those that are needed least lie at the beginning.
  const sweep = setInterval(() => {
    while (idle.length > 0 && performance.now() - idle[0]!.idleSince > idleMs) idle[0]!.close();
  }, idleMs / 5);
  sweep.unref();

  return {
    all<Row>(text: string, parameters: readonly WireValue[]) {
      return new Promise<Row[]>((resolve, reject) => {
        const job: WireJob = {
          text,
          parameters,
          resolve: resolve as WireJob['resolve'],
          reject: (error) => reject(errorOf(error)),
        };
        const free = idle.pop();
        if (free !== undefined) return free.run(job);
        if (isClosing) return job.reject(over());
        if (waiting.length >= waitingMax)
          return job.reject(new WireError('53300', `More than ${waitingMax} statements wait for a connection to the database`));
        waiting.push(job);
        open();
      });
    },
    async close() {
      isClosing = true;
      clearInterval(sweep);
      if (backingOff !== null) clearTimeout(backingOff);
      if (all.size === 0) rejectWaiting(over());
      const ended = new Promise<void>((resolve) => {
        closed = () => {
          if (waiting.length === 0 && idle.length === all.size) resolve();
        };
      });
      closed!();
      const late = setTimeout(() => {
        rejectWaiting(over());
        for (const connection of all) connection.close();
      }, closeMsMax);
      await ended;
      clearTimeout(late);
      for (const connection of all) connection.close();
    },
  };
}

function over(): WireError {
  return new WireError('CONNECTION_ENDED', 'The connection to the database was ended');
}

function same(error: unknown): unknown {
  return error;
}
