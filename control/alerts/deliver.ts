// Delivers alerts to channels: signed webhooks, messages to a chat, or emails. Started by main.ts.
import { post, type AttemptResult, type Resolve } from '#core/outbound/post.ts';
import { runDeliveries, type Delivery } from '../outbound/deliveries.ts';
import { sendSigned } from '../outbound/send-signed.ts';
import { channelKind } from '../outbound/subscription.ts';
import type { Dependencies } from '../process/dependencies.ts';
import type { ChannelKind, ChannelSecret } from './channel.ts';

/** Delays after failed attempts, three hours in total. */
const WAITS_SECONDS = [10, 60, 300, 1800, 7200];
const KEPT_DAYS = 90;

interface AlertDelivery extends Delivery {
  readonly kind: ChannelKind;
  readonly event_id: string;
  readonly type: 'fired' | 'resolved' | 'test';
  readonly name: string;
  readonly value: number | null;
  readonly message: string;
  readonly created_at: Date;
  readonly project_id: string | null;
  readonly project_name: string | null;
}

/** Sends due deliveries until the process ends. @param resolve for tests. */
export function deliverAlerts(deps: Dependencies, resolve?: Resolve): Promise<void> {
  return runDeliveries<AlertDelivery>(deps, {
    what: 'Deliveries of alerts',
    kind: channelKind,
    channel: 'control_alert',
    table: 'control.alert_delivery',
    subscriptionId: 'channel_id',
    waitsSeconds: WAITS_SECONDS,
    columns: (sql) => sql`
      subscription.kind, event_id, event.type, event.name, event.value, event.message, event.created_at,
      event.project_id, project.name AS project_name`,
    joins: (sql) => sql`
      JOIN control.alert_event AS event ON event.id = claimed.event_id
      LEFT JOIN control.project ON project.id = event.project_id`,
    sweep: (sql) => sql`DELETE FROM control.alert_event WHERE created_at < now() - ${KEPT_DAYS} * interval '1 day'`,
    send: (delivery, secret) => send(deps, delivery, JSON.parse(secret) as ChannelSecret, resolve),
  });
}

async function send(
  deps: Dependencies,
  delivery: AlertDelivery,
  channel: ChannelSecret,
  resolve?: Resolve,
): Promise<AttemptResult> {
  const { id, kind, type, name, value, message, event_id: alertId, project_id: projectId } = delivery;
  const [title, text] = [titleOf(delivery), textOf(deps, delivery)];
  const postJson = (url: string, body: object): Promise<AttemptResult> => {
    const headers = { 'content-type': 'application/json', 'user-agent': 'platform-alerts' };
    return post({ url, headers, body: JSON.stringify(body), isPrivate: delivery.is_private }, resolve);
  };
  if ('to' in channel) return deps.mail.attempt({ to: channel.to, subject: title, text });
  const { url, secret = '' } = channel;
  if (kind === 'webhook') {
    const event = `alert.${type}`;
    const createdAt = delivery.created_at.toISOString();
    const body = JSON.stringify({ id, type: event, createdAt, projectId, data: { alertId, name, value, message } });
    return sendSigned({ url, secret, id, event, body, isPrivate: delivery.is_private }, resolve);
  }
  // Names and routes come from the project: escape mark-up and mentions.
  const content = `${title}\n${text}`;
  if (kind === 'discord') return postJson(url, { content: content.slice(0, 2000), allowed_mentions: { parse: [] } });
  return postJson(url, { text: content.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;' })[sign] ?? '&gt;') });
}

const words = { fired: 'Alert', resolved: 'Resolved', test: 'Test' } as const;

function titleOf({ type, name, project_name: project }: AlertDelivery): string {
  return `${words[type]}: ${name} (${project ?? 'the platform'})`.replace(/[\r\n]+/g, ' ');
}

function textOf({ addresses }: Dependencies, { message, project_name: project }: AlertDelivery): string {
  const page = project === null ? '/operator/alerts' : `/projects/${encodeURIComponent(project)}/settings/alerts`;
  return `${message}\n${addresses.ui}${page}`;
}
