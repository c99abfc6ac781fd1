// The loop behind outbound webhooks: claims what is due under a lease, sends it, and puts off what did not arrive.
// Woken by NOTIFY, and by a poll besides. A delivery arrives at least once. Runs in the API process.
import { unseal } from '#core/encryption.ts';
import type { Parts } from '../parts.ts';
import type { AttemptResult, Resolve } from '../outbound/post.ts';
import { send } from './send.ts';

/** Waits before the second attempt and each later one: 21 hours in all. */
const WAITS_SECONDS = [10, 60, 300, 1800, 7200, 21_600, 43_200];
const AT_ONCE_MAX = 8;
/** Of one webhook, so that one that is slow does not hold up the others. */
const OF_ONE_MAX = 2;
const LEASE_SECONDS = 60;
const POLL_MS = 5000;
const KEPT_DAYS = 30;
const SWEEP_MS = 3_600_000;

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

/** What a webhook's secret belongs to. */
export function secretContext(webhookId: string): string {
  return `webhook:${webhookId}`;
}

/** Starts the loop. Called by main.ts. */
export function startWebhooks(parts: Parts): void {
  parts.background('Sending webhooks', () => sendDeliveries(parts));
}

/** Sends what is due until the process ends. @param resolve for tests. */
export async function sendDeliveries(parts: Parts, resolve?: Resolve): Promise<void> {
  const { stopping, log, sql } = parts;
  const running = new Map<string, { readonly webhookId: string; readonly done: Promise<void> }>();
  let isWoken = false;
  let wake = (): void => {};
  const look = (): void => {
    isWoken = true;
    wake();
  };
  const unlisten = await parts.onNotify('control_webhook', look);
  stopping.addEventListener('abort', look);
  let sweptAt = -Infinity;
  while (!stopping.aborted) {
    isWoken = false;
    try {
      if (performance.now() - sweptAt > SWEEP_MS) {
        sweptAt = performance.now();
        await sql`
          DELETE FROM control.webhook_delivery
          WHERE due_at IS NULL AND created_at < now() - ${KEPT_DAYS} * interval '1 day'`;
      }
      while (running.size < AT_ONCE_MAX) {
        const claimed = await claim(parts, busyOf([...running.values()].map(({ webhookId }) => webhookId)));
        if (claimed === null) break;
        const done = deliver(parts, claimed, resolve)
          .catch((error: unknown) => log.error({ err: error, delivery: claimed.id }, 'Delivery not recorded'))
          .finally(() => {
            running.delete(claimed.id);
            look();
          });
        running.set(claimed.id, { webhookId: claimed.webhook_id, done });
      }
    } catch (error) {
      if (!stopping.aborted) log.error({ err: error }, 'Deliveries of webhooks not claimed');
    }
    if (isWoken || stopping.aborted) continue;
    await new Promise<void>((go) => {
      const timer = setTimeout(go, POLL_MS);
      wake = () => {
        clearTimeout(timer);
        go();
      };
    });
    wake = () => {};
  }
  await Promise.allSettled([...running.values()].map(({ done }) => done));
  await unlisten().catch(() => {});
}

/** Webhooks that have as many deliveries under way as they may. */
function busyOf(webhooks: readonly string[]): string[] {
  return [...new Set(webhooks)].filter((id) => webhooks.filter((other) => other === id).length >= OF_ONE_MAX);
}

async function claim({ sql }: Parts, busy: readonly string[]): Promise<Claimed | null> {
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

async function deliver(parts: Parts, claimed: Claimed, resolve?: Resolve): Promise<void> {
  const { id, webhook_id: webhookId, event, body, url, is_private: isPrivate } = claimed;
  let secret: string;
  try {
    secret = unseal(parts.keys, claimed.secret, secretContext(webhookId));
  } catch {
    return record(parts, claimed, { status: null, error: 'Its secret cannot be read: make the webhook anew' });
  }
  const attempt = { url, secret, id, event, isPrivate, body: JSON.stringify({ id, ...body }) };
  await record(parts, claimed, await (resolve === undefined ? send(attempt) : send(attempt, resolve)));
}

/** Only for the attempt that was claimed: somebody may have asked for the delivery anew since, or switched it off. */
async function record({ sql }: Parts, { id, attempt }: Claimed, { status, error }: AttemptResult): Promise<void> {
  const seconds = error === null ? undefined : WAITS_SECONDS[attempt - 1];
  const wait = seconds === undefined ? null : seconds * (1 + Math.random() / 4);
  await sql`
    UPDATE control.webhook_delivery
       SET lease_until = NULL, status = ${status}, error = ${error},
           delivered_at = ${error === null ? sql`now()` : null},
           due_at = ${wait === null ? null : sql`now() + ${wait} * interval '1 second'`}
     WHERE id = ${id} AND attempt = ${attempt} AND due_at IS NOT NULL`;
}
