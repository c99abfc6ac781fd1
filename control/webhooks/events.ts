// Events of outbound webhooks. Triggers write the events of deployments, promotions and guarded releases, in the
// transaction of the change; other events use `enqueueEvent`.
import type { Sql, Transaction } from '#postgres/sql.ts';

/** Events that a webhook can subscribe to. */
export const webhookEvents = [
  'deployment.created',
  'deployment.succeeded',
  'deployment.failed',
  'deployment.canceled',
  // Production points to another deployment, after a release, promotion or rollback.
  'deployment.promoted',
  // Guarded releases.
  'release.started',
  'release.advanced',
  'release.promoted',
  'release.rolled_back',
  'release.canceled',
  'domain.active',
] as const;
type WebhookEvent = (typeof webhookEvents)[number];

/** An event to deliver. */
interface NewEvent {
  readonly organizationId: string;
  readonly projectId: string | null;
  readonly event: WebhookEvent;
  /** The data contains no secrets and no values of variables. */
  readonly data: Readonly<Record<string, string | number | boolean | null>>;
}

/**
 * Writes a delivery for each webhook that subscribes to the event.
 *
 * @param tx transaction of the change: if it is rolled back, nothing is delivered.
 * @example await enqueueEvent(tx, { organizationId, projectId, event: 'domain.active', data: { hostname } });
 */
export async function enqueueEvent(
  tx: Transaction | Sql,
  { organizationId, projectId, event, data }: NewEvent,
): Promise<void> {
  await tx`SELECT control.enqueue_event(${organizationId}, ${projectId}, ${event}, ${tx.json(data)})`;
}
