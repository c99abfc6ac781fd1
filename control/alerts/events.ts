// Writes events of alerts, with a delivery for each channel. Called by evaluate.ts, by tests of channels, and by
// guarded releases.
import type { Transaction } from '#postgres/sql.ts';
import { newId } from '../records/ids.ts';

/** A change of an alert's state, and the channels to notify. */
interface NewEvent {
  readonly projectId: string | null;
  /** Null means a test event, or a guarded release that was rolled back. */
  readonly ruleId: string | null;
  readonly type: 'fired' | 'resolved' | 'test';
  readonly name: string;
  readonly value: number | null;
  readonly message: string;
  /** Channel ids; deleted channels are ignored. `all` is every channel of the project. */
  readonly channels: readonly string[] | 'all';
}

/** Writes an event with its deliveries. @returns its id. */
export async function writeEvent(tx: Transaction, event: NewEvent): Promise<string> {
  const { projectId, ruleId, type, name, value, message, channels } = event;
  const id = newId('alertEvent');
  await tx`
    INSERT INTO control.alert_event (id, project_id, rule_id, type, name, value, message)
    VALUES (${id}, ${projectId}, ${ruleId}, ${type}, ${name}, ${value}, ${message})`;
  const known = await tx<{ id: string }[]>`
    SELECT id FROM control.alert_channel
    WHERE ${channels === 'all' ? tx`true` : tx`id = ANY(${[...channels]})`}
      AND project_id IS NOT DISTINCT FROM ${projectId}`;
  for (const channel of known)
    await tx`
      INSERT INTO control.alert_delivery (id, event_id, channel_id, due_at)
      VALUES (${newId('alertDelivery')}, ${id}, ${channel.id}, now())`;
  await tx`SELECT pg_notify('control_alert', '')`;
  return id;
}
