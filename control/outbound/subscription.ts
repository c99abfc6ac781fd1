// The four kinds of subscriptions: rows whose owner wants data sent to a URL. Each row has a target, an encrypted
// secret and a record of failures. webhooks/, alerts/, drains/ and telemetry/ decide what is sent, and when.
import { seal, unseal, type EncryptionKeys } from '#core/encryption.ts';
import type { OwnedTable } from '../records/owned-table.ts';

/**
 * A kind: its table, and the location of its secret. `subject` is also the prefix of the encryption context
 * (`drain:<id>`).
 */
export interface SubscriptionKind extends OwnedTable {
  /** Column of the encrypted secret. */
  readonly sealed: 'secret' | 'headers';
}

/** Webhooks of an organization: events of deployments and domains. */
export const webhookKind = {
  subject: 'webhook',
  table: 'control.webhook',
  id: 'id',
  owner: 'organization_id',
  limit: { what: 'webhooks', of: 'webhooksMax' },
  sealed: 'secret',
} as const satisfies SubscriptionKind;

/** Log drains of a project: its log lines. */
export const drainKind = {
  subject: 'drain',
  table: 'control.log_drain',
  id: 'id',
  owner: 'project_id',
  limit: { what: 'log drains', of: 'drainsMax' },
  sealed: 'secret',
} as const satisfies SubscriptionKind;

/** Channels of a project's alerts, or of the operator's alerts (without a project). */
export const channelKind = {
  subject: 'alert_channel',
  table: 'control.alert_channel',
  id: 'id',
  owner: 'project_id',
  limit: { what: 'alert channels', of: 'alertChannelsMax' },
  sealed: 'secret',
} as const satisfies SubscriptionKind;

/** The collector of a project: its spans. */
export const collectorKind = {
  subject: 'collector',
  table: 'control.collector',
  id: 'project_id',
  owner: 'project_id',
  limit: null,
  sealed: 'headers',
} as const satisfies SubscriptionKind;

/** All kinds, for code that handles all of them in the same way. */
export const subscriptionKinds: readonly SubscriptionKind[] = [webhookKind, drainKind, channelKind, collectorKind];

/** The failure of a subscription whose secret no key of ENCRYPTION_KEY can decrypt. */
export const UNREADABLE = 'The secret cannot be decrypted: delete this entry and create it again';

/** Encryption context of a subscription's secret. */
export function secretContext({ subject }: SubscriptionKind, id: string): string {
  return `${subject}:${id}`;
}

export function sealSecret(keys: EncryptionKeys, kind: SubscriptionKind, id: string, secret: string): Buffer {
  return seal(keys, secret, secretContext(kind, id));
}

/** @throws {Error} if no listed key decrypts the secret. */
export function openSecret(keys: EncryptionKeys, kind: SubscriptionKind, id: string, sealed: Buffer): string {
  return unseal(keys, sealed, secretContext(kind, id));
}

/**
 * Seconds until the next attempt, with jitter, so that simultaneous failures are not retried together.
 *
 * @param waits seconds before the second and later attempts. @param failures failed attempts in a row.
 * @returns null after the last attempt.
 */
export function retryIn(waits: readonly number[], failures: number): number | null {
  const seconds = waits[failures - 1];
  return seconds === undefined ? null : seconds * (1 + Math.random() / 4);
}
