// Delivers outbound webhooks: claims due deliveries under a lease, sends them, and schedules retries
// (outbound/due-work.ts has the loop). At least once. Runs in the API process.
import { unseal } from '#core/encryption.ts';
import type { AttemptResult, Resolve } from '#core/way-out/post.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { runDueWork } from '../outbound/due-work.ts';
import { send } from './send.ts';

/** Delays in seconds before the second and later attempts: 21 hours in total. */
const WAITS_SECONDS = [10, 60, 300, 1800, 7200, 21_600, 43_200];
const OF_ONE_MAX = 2;
const LEASE_SECONDS = 60;
const KEPT_DAYS = 30;

interface Claimed {
  readonly id: string;
  readonly webhook_id: string;
  readonly event: string;
  readonly body: object;
  readonly attempt: number;
  readonly url: string;
  readonly secret: Buffer;
  readonly is_private: boolean;
}

/** Encryption context of a webhook's secret. */
export function secretContext(webhookId: string): string {
  return `webhook:${webhookId}`;
}

/** Starts the loop. Called by main.ts. */
export function startWebhooks(deps: Dependencies): void {
  deps.background('Sending webhooks', () => sendDeliveries(deps));
}

/** Sends due deliveries until the process ends. @param resolve for tests. */
export function sendDeliveries(deps: Dependencies, resolve?: Resolve): Promise<void> {
  const { sql } = deps;
  return runDueWork<Claimed>(deps, {
    what: 'Deliveries of webhooks',
    channel: 'control_webhook',
    pollMs: 5000,
    ofOneMax: OF_ONE_MAX,
    claim: (busy) => claim(deps, busy),
    ownerOf: ({ webhook_id: webhookId }) => webhookId,
    run: (claimed) => deliver(deps, claimed, resolve),
    sweep: () => sql`
      DELETE FROM control.webhook_delivery
      WHERE due_at IS NULL AND created_at < now() - ${KEPT_DAYS} * interval '1 day'`,
  });
}

async function claim({ sql }: Dependencies, busy: readonly string[]): Promise<Claimed | null> {
  const [claimed] = await sql<Claimed[]>`
    UPDATE control.webhook_delivery AS delivery
       SET lease_until = now() + ${LEASE_SECONDS} * interval '1 second', attempt = attempt + 1
      FROM control.webhook
     WHERE webhook.id = delivery.webhook_id AND delivery.id = (
       SELECT id FROM control.webhook_delivery
        WHERE due_at <= now() AND (lease_until IS NULL OR lease_until < now()) AND webhook_id <> ALL(${[...busy]})
        ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING delivery.id, webhook_id, event, body, attempt, url, secret, is_private`;
  return claimed ?? null;
}

async function deliver(deps: Dependencies, claimed: Claimed, resolve?: Resolve): Promise<void> {
  const { id, webhook_id: webhookId, event, body, url, is_private: isPrivate } = claimed;
  let secret: string;
  try {
    secret = unseal(deps.keys, claimed.secret, secretContext(webhookId));
  } catch {
    return record(deps, claimed, { status: null, error: 'Its secret cannot be read: make the webhook anew' });
  }
  const attempt = { url, secret, id, event, isPrivate, body: JSON.stringify({ id, ...body }) };
  await record(deps, claimed, await (resolve === undefined ? send(attempt) : send(attempt, resolve)));
}

/** Only for the claimed attempt: the delivery may have been requested again or the webhook disabled since. */
async function record(
  { sql }: Dependencies,
  { id, attempt }: Claimed,
  { status, error }: AttemptResult,
): Promise<void> {
  const seconds = error === null ? undefined : WAITS_SECONDS[attempt - 1];
  const wait = seconds === undefined ? null : seconds * (1 + Math.random() / 4);
  await sql`
    UPDATE control.webhook_delivery
       SET lease_until = NULL, status = ${status}, error = ${error},
           delivered_at = ${error === null ? sql`now()` : null},
           due_at = ${wait === null ? null : sql`now() + ${wait} * interval '1 second'`}
     WHERE id = ${id} AND attempt = ${attempt} AND due_at IS NOT NULL`;
}
