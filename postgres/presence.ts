// Membership: each broker and machine holds a session lock while it is connected, so that others notice its death
// immediately instead of waiting for its leases to expire. A member that is missing in two checks in a row has died;
// once may be a reconnection.
import { randomBytes } from 'node:crypto';
import { openPostgres, type Statements } from './connection.ts';
import { atMost } from './wake.ts';

/** One member's view. */
export interface Presence {
  /** Name of this member in leases. */
  readonly id: string;
  /** Whether a member is known to have died. */
  isGone(id: string): boolean;
  close(): Promise<void>;
}

/** A membership that also runs an action at each check. */
interface Membership extends Presence {
  /** Checks immediately; otherwise every two seconds. */
  look(): Promise<void>;
  /** @param last runs before the lock is released, unless the server is unavailable. */
  close(last?: (sql: Statements) => Promise<unknown>): Promise<void>;
}

/** A member, as passed to the action of each check. */
export interface Member {
  readonly id: string;
  /** Second half of the key of the member's lock. */
  readonly key: number;
}

/** First half of the lock's key: an arbitrary number that no other lock uses. */
const LOCK_CLASS = 752_834_100;
const LOOK_MS = 2000;
/** Closing does not wait for an unavailable server. */
const CLOSE_MS_MAX = 1000;
/** Missing members are dropped after this many checks, when their leases have certainly expired. */
const LOOKS_KEPT = 200;

/**
 * @param onTrouble called with errors; the membership keeps trying.
 * @param onLook renews the rows of the member, in the session that holds the lock.
 * @throws {PostgresError} if the server is unavailable.
 */
export async function joinPresence(
  url: string,
  onTrouble: (error: unknown) => void,
  onLook: (sql: Statements, member: Member) => Promise<void> = () => Promise.resolve(),
): Promise<Membership> {
  const key = randomBytes(4).readInt32BE();
  const id = `b${key}-${randomBytes(9).toString('base64url')}`;
  const keyOf = (other: string): number | null => {
    const found = /^b(-?\d+)-/.exec(other);
    return found === null ? null : Number(found[1]);
  };
  // One connection, whose session holds the lock.
  const sql = openPostgres({ url, name: 'platform presence', connectionsMax: 1 });
  let closed = false;
  let timer: NodeJS.Timeout | null = null;
  let looking: Promise<void> = Promise.resolve();
  /** How often in a row each queried member was not seen. */
  const unseen = new Map<string, number>();

  /** Takes the lock unless this session has it: a lost connection has lost it too. */
  async function hold(): Promise<void> {
    await sql.all(
      `SELECT pg_try_advisory_lock($1::int4, $2::int4) WHERE NOT EXISTS (
        SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND classid::bigint = $1)`,
      LOCK_CLASS,
      key,
    );
  }

  async function look(): Promise<void> {
    try {
      await hold();
      const rows = await sql.all<{ key: number }>(
        `SELECT objid::bigint AS key FROM pg_locks WHERE locktype = 'advisory' AND classid::bigint = $1 AND granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
        LOCK_CLASS,
      );
      // The server shows the key as unsigned.
      const seen = new Set(rows.map((row) => row.key | 0));
      for (const [other, looks] of unseen) {
        if (seen.has(keyOf(other)!) || looks > LOOKS_KEPT) unseen.delete(other);
        else unseen.set(other, looks + 1);
      }
      if (!closed) await onLook(sql, { id, key });
    } catch (error) {
      // Without a successful check, no member counts as dead.
      for (const other of unseen.keys()) unseen.set(other, 0);
      if (!closed) onTrouble(error);
    }
    if (timer !== null) clearTimeout(timer);
    if (!closed) timer = setTimeout(() => void lookNow(), LOOK_MS);
  }

  function lookNow(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    looking = looking.then(() => (closed ? undefined : look()));
    return looking;
  }

  await hold();
  void lookNow();
  return {
    id,
    isGone(other) {
      if (keyOf(other) === null) return false;
      const looks = unseen.get(other);
      if (looks === undefined) unseen.set(other, 0);
      return (looks ?? 0) >= 2;
    },
    look: lookNow,
    async close(last) {
      closed = true;
      if (timer !== null) clearTimeout(timer);
      await atMost(CLOSE_MS_MAX, looking);
      if (last !== undefined) await atMost(CLOSE_MS_MAX, last(sql).catch(onTrouble));
      await atMost(CLOSE_MS_MAX, sql.close(CLOSE_MS_MAX));
    },
  };
}
