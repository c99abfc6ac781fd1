// Delivers the events of outgoing webhooks, signed. Started by main.ts.
import type { Resolve } from '#core/outbound/post.ts';
import { runDeliveries, type Delivery } from '../outbound/deliveries.ts';
import { sendSigned } from '../outbound/send-signed.ts';
import { webhookKind } from '../outbound/subscription.ts';
import type { Dependencies } from '../process/dependencies.ts';

/** 21 hours in total. */
const WAITS_SECONDS = [10, 60, 300, 1800, 7200, 21_600, 43_200];
const KEPT_DAYS = 30;

interface WebhookDelivery extends Delivery {
  readonly event: string;
  readonly body: object;
  readonly url: string;
}

/** Sends due deliveries until the process ends. @param resolve for tests. */
export function deliverWebhooks(deps: Dependencies, resolve?: Resolve): Promise<void> {
  return runDeliveries<WebhookDelivery>(deps, {
    what: 'Deliveries of webhooks',
    kind: webhookKind,
    channel: 'control_webhook',
    table: 'control.webhook_delivery',
    subscriptionId: 'webhook_id',
    waitsSeconds: WAITS_SECONDS,
    columns: (sql) => sql`event, body, url`,
    sweep: (sql) => sql`
      DELETE FROM control.webhook_delivery
      WHERE due_at IS NULL AND created_at < now() - ${KEPT_DAYS} * interval '1 day'`,
    send: ({ id, event, body, url, is_private: isPrivate }, secret) =>
      sendSigned({ url, secret, id, event, isPrivate, body: JSON.stringify({ id, ...body }) }, resolve),
  });
}
