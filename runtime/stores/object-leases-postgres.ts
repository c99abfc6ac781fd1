// Records in Postgres which engine has each durable object. There is one row per object, with the number of its holder,
// and one row per engine, which the engine renews while it has objects. An engine that cannot renew its row no longer
// has objects.
import { randomBytes } from 'node:crypto';
import { Failure } from '#core/failure.ts';
import { later, LeaseEnd, LONG_AGO, momentNow, type Moment } from '../databases/protocol/lease-clock.ts';
import type { ObjectLeases } from '../engine/bindings/object-leases.ts';
import type { Sql } from './sql.ts';

/** Time without renewal after which an engine gives up its objects. */
const LEASE_MS = 1000;

/** Interval at which rows without a holder are deleted, and their minimum age since their object was last taken. */
const [SWEEP_MS, KEPT_MS] = [600_000, 3_600_000];

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

interface Options {
  readonly sql: Pick<Sql, 'all'>;
  /** Path of this engine's socket for forwarded requests; empty if this engine has none. */
  readonly link: string;
  readonly log: (message: string) => void;
  /** How long a row without a holder is kept. */
  readonly keptMs?: number;
  /** For tests. */
  readonly now?: () => Moment;
  /** Time without renewal after which this engine gives up its objects, the same for all engines; default 1000. */
  readonly leaseMs?: number;
}

interface PostgresLeases extends ObjectLeases {
  /** Deletes rows that already had no holder at the previous call. */
  sweep(): Promise<void>;
  close(): void;
}

export function createObjectLeases({
  sql,
  link,
  log,
  keptMs = KEPT_MS,
  now = momentNow,
  leaseMs = LEASE_MS,
}: Options): PostgresLeases {
  const renewMs = 0.4 * leaseMs;
  /** Time without renewal after which other engines may take the objects. */
  const goneMs = 1.5 * leaseMs;
  /**
   * If a renewal is within this time of the previous one, by the clock of Postgres, no other engine could have taken
   * objects. The time that is left until `goneMs` is for the statements of the other engines.
   */
  const continuousMs = 1.25 * leaseMs;
  const holder = randomBytes(12).toString('base64url');
  /** The end of the lease, computed from the last successful renewal. */
  const end = new LeaseEnd(LONG_AGO, now);
  /** Whether other engines may have taken objects before the last renewal. */
  let hasLost = false;
  let renewing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let count = 0;
  let closed = false;

  function hasExpired(): boolean {
    return count > 0 && end.isPast;
  }

  function renew(): Promise<void> {
    renewing ??= (async () => {
      const began = now();
      const isLate = hasExpired();
      try {
        const [row] = await sql.all<{ gap: number | null }>(
          `WITH last AS (SELECT seen_at FROM object_engine WHERE holder = $1)
           INSERT INTO object_engine AS e (holder, link, seen_at) VALUES ($1, $2, ${NOW})
           ON CONFLICT (holder) DO UPDATE SET seen_at = excluded.seen_at
           RETURNING (e.seen_at - (SELECT seen_at FROM last))::double precision AS gap`,
          holder,
          link,
        );
        const gap = row?.gap ?? Infinity;
        // A pause of the process is not hidden by its first renewal afterwards.
        if (isLate && gap >= continuousMs) hasLost = true;
        end.set(later(began, leaseMs));
      } finally {
        renewing = null;
      }
    })();
    return renewing;
  }

  function keepRenewing(): void {
    if (timer !== null || closed) return;
    timer = setInterval(() => {
      if (count === 0) {
        clearInterval(timer!);
        timer = null;
      } else renew().catch((error: unknown) => log(`durable objects: lease not renewed: ${(error as Error).message}`));
    }, renewMs);
    timer.unref();
  }

  const unheld = `l.fence < (${NOW} - ${keptMs}) * 1000 AND NOT EXISTS (
    SELECT FROM object_engine e WHERE e.holder = l.holder AND e.seen_at > ${NOW} - ${goneMs})`;

  /**
   * The statements have this order, so that an engine that takes an object in the meantime has seen the floor of the
   * previous call: numbers of new holders are above it.
   */
  async function sweep(): Promise<void> {
    await sql.all(`DELETE FROM object_lease l WHERE l.fence <= (SELECT fence FROM object_floor) AND ${unheld}`);
    await sql.all(
      `UPDATE object_floor SET fence = greatest(fence, (SELECT max(l.fence) FROM object_lease l WHERE ${unheld}))`,
    );
    await sql.all(`DELETE FROM object_engine WHERE seen_at < ${NOW} - ${Math.max(0, keptMs) + goneMs}`);
  }

  const sweeping = setInterval(() => {
    sweep().catch((error: unknown) => log(`durable objects: leases not deleted: ${(error as Error).message}`));
  }, SWEEP_MS);
  sweeping.unref();

  return {
    sweep,
    isValid: () => !hasLost && !hasExpired(),
    async acquire({ namespace, resource: id }) {
      // Also renews a lease that would expire before the timer runs, because the timer is stopped while there are no
      // objects.
      if (end.leftMs <= leaseMs - renewMs) await renew();
      count++;
      keepRenewing();
      try {
        const rows = await sql.all<{ fence: number }>(
          `INSERT INTO object_lease AS l (namespace, id, holder, fence) VALUES ($1, $2, $3, greatest(${NOW} * 1000, (SELECT fence + 1 FROM object_floor)))
           ON CONFLICT (namespace, id) DO UPDATE SET holder = excluded.holder, fence = greatest(l.fence + 1, excluded.fence)
           WHERE l.holder = excluded.holder OR NOT EXISTS (
             SELECT FROM object_engine e WHERE e.holder = l.holder AND e.seen_at > ${NOW} - ${goneMs})
           RETURNING fence`,
          namespace,
          id,
          holder,
        );
        if (rows[0] !== undefined) return Number(rows[0].fence);
        const [held] = await sql.all<{ link: string }>(
          `SELECT e.link FROM object_lease l JOIN object_engine e ON e.holder = l.holder WHERE l.namespace = $1 AND l.id = $2`,
          namespace,
          id,
        );
        throw new Failure('object_held', 'another engine has the object', { link: held?.link ?? '' });
      } catch (error) {
        count--;
        throw error;
      }
    },
    release({ namespace, resource: id }, fence) {
      count = Math.max(0, count - 1);
      sql
        .all(
          `UPDATE object_lease SET holder = '' WHERE namespace = $1 AND id = $2 AND holder = $3 AND fence = $4`,
          namespace,
          id,
          holder,
          fence,
        )
        .catch(() => {});
    },
    async others(namespace) {
      const engines = await sql.all<{ link: string }>(
        `SELECT DISTINCT e.link FROM object_lease l JOIN object_engine e ON e.holder = l.holder
         WHERE l.namespace = $1 AND l.holder <> $2 AND e.seen_at > ${NOW} - ${goneMs}`,
        namespace,
        holder,
      );
      return engines.map((engine) => engine.link).filter((other) => other !== '');
    },
    lapsed() {
      count = 0;
      hasLost = false;
    },
    close() {
      closed = true;
      clearInterval(sweeping);
      if (timer !== null) clearInterval(timer);
      sql.all('DELETE FROM object_engine WHERE holder = $1', holder).catch(() => {});
    },
  };
}
