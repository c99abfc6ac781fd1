// What outbound webhooks tell of. Deployments and promotions are written by triggers of the database, in the
// transaction of the change, whoever makes it; the rest comes through `enqueueEvent`.
import type { Sql, Transaction } from '#postgres/sql.ts';

/** Events that a webhook can be for. */
export const webhookEvents = [
  'deployment.created',
  'deployment.succeeded',
  'deployment.failed',
  'deployment.canceled',
  // Production leads to another deployment: by a release, a promotion or a rollback.
  'deployment.promoted',
  'domain.active',
] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** What an event tells. */
interface NewEvent {
  readonly organizationId: string;
  readonly projectId: string | null;
  readonly event: WebhookEvent;
  /** No secrets, no values of variables. */
  readonly data: Readonly<Record<string, string | number | boolean | null>>;
}

/**
 * Writes a delivery for each webhook that is for this event.
 *
 * @param tx transaction of the change: without the change, nothing is delivered.
 * @example await enqueueEvent(tx, { organizationId, projectId, event: 'domain.active', data: { hostname } });
 */
export async function enqueueEvent(
  tx: Transaction | Sql,
  { organizationId, projectId, event, data }: NewEvent,
): Promise<void> {
  await tx`SELECT control.enqueue_event(${organizationId}, ${projectId}, ${event}, ${tx.json(data)})`;
}
