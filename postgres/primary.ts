// Finds the host that accepts writes, for URLs with `target_session_attrs=read-write`: once per process and database,
// and again after a lost connection. Connections to a host that disappears silently would wait for minutes: they are
// closed when the host cannot be reached. Used by connection.ts and sql.ts.
import { connect, type Socket } from 'node:net';
import pg from 'pg';
import type { Address } from './address.ts';
import type { Host } from '#core/database-url.ts';
import {
  isConnectionError,
  isWithoutTls,
  postgresError,
  toPostgresError,
  type PostgresError,
} from './postgres-error.ts';

/** The host that accepts writes. */
export interface Primary {
  /** @throws {PostgresError} `CONNECTION_NO_PRIMARY` with the answer of each host. */
  find(): Promise<Host>;
  /** Tracks a connection to a host, starting before it connects. */
  hold(host: Host, socket: Socket): void;
}

/** The answer of a host. */
interface Seen {
  readonly host: Host;
  /** Changes with each promotion; 0 if the host accepts no writes. */
  readonly timeline: number;
  readonly error: PostgresError | null;
}

interface Held {
  readonly host: Host;
  read: number;
  written: number;
  /** Time since which an answer is pending. */
  since: number | null;
}

const PROBE_MS_MAX = 2000;
/** Time for other hosts to respond after the first host that accepts writes: the latest timeline wins. */
const GRACE_MS = 200;
/** While no host accepts writes, all statements share one attempt. */
const AGAIN_MS = 100;
const TICK_MS = 1000;
const SILENT_MS = 2000;
const REACH_MS_MAX = 3000;

/** Runs on a standby, too. */
const QUESTION = `SELECT CASE WHEN pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' THEN 0
  ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline`;

const primaries = new Map<string, Primary>();

/**
 * There is one {@link Primary} per process and database; null if the URL does not request a host that accepts writes.
 */
export function primaryOf(address: Address): Primary | null {
  const { writers, user, database, password } = address;
  if (writers === null) return null;
  const key = JSON.stringify([writers, user, database, password]);
  const known = primaries.get(key);
  if (known !== undefined) return known;
  const made = createPrimary(address, writers);
  primaries.set(key, made);
  return made;
}

function createPrimary(address: Address, hosts: readonly Host[]): Primary {
  const held = new Map<Socket, Held>();
  let known: Host | null = null;
  let finding: Promise<Host> | null = null;
  let failed: { readonly error: PostgresError; readonly at: number } | null = null;
  /** The latest timeline that accepted writes: a host with an earlier timeline is an old primary that returned. */
  let latest = 0;
  let timer: NodeJS.Timeout | null = null;

  async function look(): Promise<Host> {
    const seen = await ask(address, hosts);
    const [best] = seen.filter(({ timeline }) => timeline > 0).toSorted((a, b) => b.timeline - a.timeline);
    if (best !== undefined && best.timeline >= latest) {
      latest = best.timeline;
      known = best.host;
      failed = null;
      return known;
    }
    const refused = seen.map(({ error }) => error).filter((error) => error !== null);
    const wrong = refused.length === hosts.length ? refused.find((error) => !isConnectionError(error)) : undefined;
    const error =
      wrong ?? postgresError('CONNECTION_NO_PRIMARY', `No host of the database accepts writes: ${told(seen)}`);
    failed = { error, at: performance.now() };
    throw error;
  }

  function told(seen: readonly Seen[]): string {
    return seen
      .map(({ host: { host, port }, timeline, error }) => {
        if (timeline > 0) return `${host}:${port} is an old primary (timeline ${timeline}, after ${latest})`;
        return `${host}:${port} ${error === null ? 'is a standby or read-only' : `failed (${error.message})`}`;
      })
      .join(', ');
  }

  function lost(socket: Socket, { host }: Held): void {
    held.delete(socket);
    if (host === known) known = null;
    if (held.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  }

  /** TLS connections can end without an event of the underlying socket. */
  function sweep(): void {
    for (const [socket, one] of held) if (socket.destroyed) lost(socket, one);
  }

  function tick(): void {
    sweep();
    const now = performance.now();
    const silent = new Set<Host>();
    for (const [{ bytesRead, bytesWritten }, one] of held) {
      // After a pause with traffic in both directions, the last write may be unanswered: the host is checked once.
      const since = bytesWritten > one.written ? now : null;
      if (bytesRead !== one.read) Object.assign(one, { read: bytesRead, written: bytesWritten, since });
      else if (bytesWritten > one.written) one.since ??= now;
      if (one.since !== null && now - one.since > SILENT_MS) silent.add(one.host);
    }
    for (const host of silent) void check(host);
  }

  /** A long statement is silent as well, so only connections to an unreachable host are closed. */
  async function check(host: Host): Promise<void> {
    for (const one of held.values()) if (one.host === host) one.since = null;
    if (await isReachable(host)) {
      for (const [{ bytesWritten }, one] of held) if (one.host === host) one.written = bytesWritten;
      return;
    }
    const gone = Object.assign(new Error(`The database host ${host.host}:${host.port} cannot be reached any more`), {
      code: 'ETIMEDOUT',
    });
    for (const [socket, one] of held)
      if (one.host === host) {
        lost(socket, one);
        socket.destroy(gone);
      }
  }

  return {
    async find() {
      sweep();
      if (known !== null) return known;
      if (failed !== null && performance.now() - failed.at < AGAIN_MS) throw failed.error;
      return (finding ??= look().finally(() => (finding = null)));
    },
    hold(host, socket) {
      const one: Held = { host, read: 0, written: 0, since: null };
      held.set(socket, one);
      let isOurs = false;
      // Runs before Node's own listener, which also closes this side.
      socket.prependOnceListener('end', () => (isOurs = socket.writableEnded));
      socket.once('close', () => {
        if (isOurs) held.delete(socket);
        else if (held.has(socket)) lost(socket, one);
      });
      timer ??= setInterval(tick, TICK_MS).unref();
    },
  };
}

/** Queries all hosts in parallel. An unresponsive host causes no delay if another host accepts writes. */
async function ask(address: Address, hosts: readonly Host[]): Promise<readonly Seen[]> {
  const answers = new Map<Host, Seen>();
  let enough: () => void;
  const first = new Promise<void>((resolve) => (enough = resolve));
  const all = Promise.all(
    hosts.map(async (host) => {
      const seen = await probe({ ...address }, host);
      answers.set(host, seen);
      if (seen.timeline > 0) setTimeout(enough, GRACE_MS);
    }),
  );
  await Promise.race([all, first]);
  return hosts.flatMap((host) => answers.get(host) ?? []);
}

async function probe(address: Address, host: Host): Promise<Seen> {
  const client = new pg.Client({
    ...address,
    ...host,
    application_name: 'platform finds the primary',
    connectionTimeoutMillis: PROBE_MS_MAX,
    query_timeout: PROBE_MS_MAX,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ timeline: number }>(QUESTION);
    return { host, timeline: rows[0]!.timeline, error: null };
  } catch (error) {
    if (address.isTlsOptional && address.ssl !== false && isWithoutTls(error))
      return await probe({ ...address, ssl: false }, host);
    return { host, timeline: 0, error: toPostgresError(error, true) };
  } finally {
    void client.end().catch(() => {});
  }
}

/** Whether the kernel of the host responds, even if the server is busy. */
function isReachable({ host, port }: Host): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: REACH_MS_MAX });
    const done = (isThere: boolean): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once('connect', () => done(true));
    socket.once('timeout', () => done(false));
    socket.once('error', () => done(false));
  });
}
