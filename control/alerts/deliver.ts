// Delivers alerts to channels: as a signed webhook, as a message to a chat's incoming webhook, or as an email posted
// to
// AUTH_MAIL_URL, like those of sign-in. At least once. Started by main.ts.
import { unseal } from '#core/encryption.ts';
import { post, type AttemptResult, type Resolve } from '#core/way-out/post.ts';
import { runDueWork } from '../outbound/due-work.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { send } from '../webhooks/send.ts';

/** Delays in seconds before the second and later attempts: three hours in total. */
const WAITS_SECONDS = [10, 60, 300, 1800, 7200];
const LEASE_SECONDS = 60;
const KEPT_DAYS = 90;

export const channelKinds = ['webhook', 'slack', 'discord', 'mail'] as const;
export type ChannelKind = (typeof channelKinds)[number];

/** The sealed part of a channel, as JSON. */
export type ChannelSecret =
  | { readonly url: string; readonly secret?: string }
  | {
      /** An email address. */
      readonly to: string;
    };

interface Claimed {
  readonly id: string;
  readonly attempt: number;
  readonly channel_id: string;
  readonly kind: ChannelKind;
  readonly secret: Buffer;
  readonly is_private: boolean;
  readonly event_id: string;
  readonly type: 'fired' | 'resolved' | 'test';
  readonly name: string;
  readonly value: number | null;
  readonly message: string;
  readonly created_at: Date;
  readonly project_id: string | null;
  readonly project_name: string | null;
}

/** Encryption context of a channel's secret. */
export function channelContext(channelId: string): string {
  return `alert_channel:${channelId}`;
}

/** Starts the loop. Called by main.ts. */
export function deliverAlerts(deps: Dependencies, resolve?: Resolve): Promise<void> {
  const { sql } = deps;
  return runDueWork<Claimed>(deps, {
    what: 'Deliveries of alerts',
    channel: 'control_alert',
    pollMs: 5000,
    ofOneMax: 2,
    claim: (busy) => claim(deps, busy),
    ownerOf: ({ channel_id: channelId }) => channelId,
    run: async (claimed) => record(deps, claimed, await tell(deps, claimed, resolve)),
    sweep: () => sql`DELETE FROM control.alert_event WHERE created_at < now() - ${KEPT_DAYS} * interval '1 day'`,
  });
}

async function claim({ sql }: Dependencies, busy: readonly string[]): Promise<Claimed | null> {
  const [claimed] = await sql<Claimed[]>`
    UPDATE control.alert_delivery AS delivery
       SET lease_until = now() + ${LEASE_SECONDS} * interval '1 second', attempt = attempt + 1
      FROM control.alert_channel AS channel, control.alert_event AS event
      LEFT JOIN control.project ON project.id = event.project_id
     WHERE channel.id = delivery.channel_id AND event.id = delivery.event_id AND delivery.id = (
       SELECT id FROM control.alert_delivery
        WHERE due_at <= now() AND (lease_until IS NULL OR lease_until < now()) AND channel_id <> ALL(${[...busy]})
        ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING delivery.id, delivery.attempt, channel_id, channel.kind, secret, is_private, event_id, type, event.name,
      value, message, event.created_at, event.project_id, project.name AS project_name`;
  return claimed ?? null;
}

async function record(
  { sql }: Dependencies,
  { id, attempt }: Claimed,
  { status, error }: AttemptResult,
): Promise<void> {
  const seconds = error === null ? undefined : WAITS_SECONDS[attempt - 1];
  const wait = seconds === undefined ? null : seconds * (1 + Math.random() / 4);
  await sql`
    UPDATE control.alert_delivery
       SET lease_until = NULL, status = ${status}, error = ${error},
           delivered_at = ${error === null ? sql`now()` : null},
           due_at = ${wait === null ? null : sql`now() + ${wait} * interval '1 second'`}
     WHERE id = ${id} AND attempt = ${attempt} AND due_at IS NOT NULL`;
}

async function tell(deps: Dependencies, claimed: Claimed, resolve?: Resolve): Promise<AttemptResult> {
  let channel: ChannelSecret;
  try {
    channel = JSON.parse(unseal(deps.keys, claimed.secret, channelContext(claimed.channel_id))) as ChannelSecret;
  } catch {
    return { status: null, error: 'Its secret cannot be read: make the channel anew' };
  }
  const { kind, is_private: isPrivate } = claimed;
  const headers = { 'content-type': 'application/json', 'user-agent': 'platform-alerts' };
  if ('to' in channel) {
    const { mailUrl } = deps;
    if (mailUrl === null) return { status: null, error: NO_MAIL };
    const letter = { to: channel.to, subject: titleOf(claimed), text: textOf(deps, claimed) };
    return post({ url: mailUrl, headers, body: JSON.stringify(letter), isPrivate: true }, resolve);
  }
  const { url, secret = '' } = channel;
  if (kind === 'webhook') {
    const event = `alert.${claimed.type}`;
    const { id, name, value, message, event_id: alertId, project_id: projectId } = claimed;
    const createdAt = claimed.created_at.toISOString();
    const body = JSON.stringify({ id, type: event, createdAt, projectId, data: { alertId, name, value, message } });
    return send({ url, secret, id, event, body, isPrivate }, resolve);
  }
  const text = `${titleOf(claimed)}\n${textOf(deps, claimed)}`;
  // Names and routes come from the project: escape mark-up and mentions.
  const body =
    kind === 'discord'
      ? { content: text.slice(0, 2000), allowed_mentions: { parse: [] } }
      : { text: text.replace(/[&<>]/g, (letter) => ({ '&': '&amp;', '<': '&lt;' })[letter] ?? '&gt;') };
  return post({ url, headers, body: JSON.stringify(body), isPrivate }, resolve);
}

/** Error for email channels without AUTH_MAIL_URL. */
export const NO_MAIL = 'This platform sends no mail: its operator sets AUTH_MAIL_URL';

const words = { fired: 'Alert', resolved: 'Resolved', test: 'Test' } as const;

function titleOf({ type, name, project_name: project }: Claimed): string {
  return `${words[type]}: ${name} (${project ?? 'the platform'})`.replace(/[\r\n]+/g, ' ');
}

function textOf({ addresses }: Dependencies, { message, project_name: project }: Claimed): string {
  const page = project === null ? '/operator/alerts' : `/projects/${encodeURIComponent(project)}/settings/alerts`;
  return `${message}\n${addresses.ui}${page}`;
}
