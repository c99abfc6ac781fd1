// Deliveries that are rows of a table: claimed under a lease, sent, and retried at growing intervals. At least once.
// Used by webhooks and alerts, which provide the content.
import type { AttemptResult } from '#core/outbound/post.ts';
import type { Fragment, Sql } from '#postgres/sql.ts';
import type { Channel, Dependencies } from '../process/dependencies.ts';
import { runDueWork } from './due-work.ts';
import { openSecret, retryIn, UNREADABLE, type SubscriptionKind } from './subscription.ts';

/** A claimed delivery, with its subscription. */
export interface Delivery {
  readonly id: string;
  /** 1 for the first. */
  readonly attempt: number;
  readonly subscription_id: string;
  readonly is_private: boolean;
}

/** A table of deliveries. */
interface Deliveries<Row extends Delivery> {
  /** Name of the kind for the log: "Deliveries of webhooks". */
  readonly what: string;
  readonly kind: SubscriptionKind;
  readonly channel: Channel;
  readonly table: string;
  /** Column with the subscription's id. */
  readonly subscriptionId: string;
  /** Seconds before the second and later attempts. */
  readonly waitsSeconds: readonly number[];
  /** Further columns of `Row`, from `claimed` (the delivery), `subscription` and the joined tables. */
  readonly columns: (sql: Sql) => Fragment;
  readonly joins?: (sql: Sql) => Fragment;
  /** Deletes old rows. */
  readonly sweep: (sql: Sql) => Promise<unknown>;
  /** Sends one. Never throws. */
  readonly send: (row: Row, secret: string) => Promise<AttemptResult>;
}

const OF_ONE_MAX = 2;
const LEASE_SECONDS = 60;
const POLL_MS = 5000;

/** Sends due deliveries until the process ends. */
export function runDeliveries<Row extends Delivery>(deps: Dependencies, deliveries: Deliveries<Row>): Promise<void> {
  type Claimed = Row & { readonly sealed: Buffer };
  const { sql, keys } = deps;
  const { what, kind, channel, table, subscriptionId, columns, joins, sweep, send, waitsSeconds } = deliveries;

  async function claim(busy: readonly string[]): Promise<Claimed | null> {
    const [claimed] = await sql<Claimed[]>`
      WITH claimed AS (
        UPDATE ${sql(table)}
           SET lease_until = now() + ${LEASE_SECONDS} * interval '1 second', attempt = attempt + 1
         WHERE id = (
           SELECT id FROM ${sql(table)}
            WHERE due_at <= now() AND (lease_until IS NULL OR lease_until < now())
              AND ${sql(subscriptionId)} <> ALL(${[...busy]})
            ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING *)
      SELECT claimed.id, claimed.attempt, subscription.id AS subscription_id, subscription.secret AS sealed, is_private,
        ${columns(sql)}
      FROM claimed JOIN ${sql(kind.table)} AS subscription ON subscription.id = claimed.${sql(subscriptionId)}
      ${joins?.(sql) ?? sql``}`;
    return claimed ?? null;
  }

  async function deliver(claimed: Claimed): Promise<AttemptResult> {
    let secret: string;
    try {
      secret = openSecret(keys, kind, claimed.subscription_id, claimed.sealed);
    } catch {
      return { status: null, error: UNREADABLE };
    }
    return send(claimed, secret);
  }

  /**
   * Records the result only if the delivery is still at the claimed attempt: it may have been requested again, or its
   * subscription disabled.
   */
  async function record({ id, attempt }: Claimed, { status, error }: AttemptResult): Promise<void> {
    const wait = error === null ? null : retryIn(waitsSeconds, attempt);
    await sql`
      UPDATE ${sql(table)}
         SET lease_until = NULL, status = ${status}, error = ${error},
             delivered_at = ${error === null ? sql`now()` : null},
             due_at = ${wait === null ? null : sql`now() + ${wait} * interval '1 second'`}
       WHERE id = ${id} AND attempt = ${attempt} AND due_at IS NOT NULL`;
  }

  return runDueWork<Claimed>(deps, {
    what,
    channel,
    pollMs: POLL_MS,
    ofOneMax: OF_ONE_MAX,
    claim,
    ownerOf: (claimed) => claimed.subscription_id,
    run: async (claimed) => record(claimed, await deliver(claimed)),
    sweep: () => sweep(sql),
  });
}
