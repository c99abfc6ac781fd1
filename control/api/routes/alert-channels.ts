// Channels of alerts of a project or of the operator: schemas and operations. The routes of alerts.ts check access.
import Type, { type Static } from '#core/typebox/typebox.mjs';
import type { Sql } from '#postgres/sql.ts';
import { newSecret } from '../../access/secrets.ts';
import { channelKinds, type ChannelSecret } from '../../alerts/channel.ts';
import { writeEvent } from '../../alerts/events.ts';
import { ApiError } from '../../http/errors.ts';
import { EmailAddress, Id, Label, nullable, Timestamp } from '../../http/schemas.ts';
import { viewOf } from '../../http/view.ts';
import { NO_MAIL } from '../../outbound/send-mail.ts';
import { channelKind, sealSecret } from '../../outbound/subscription.ts';
import { AllowPrivate, checkTargetUrl } from '../../outbound/target-url.ts';
import { newId } from '../../records/ids.ts';
import type { Owner } from '../../records/owned-table.ts';
import { createOwned, deleteOwned, entryOf, listOwned, lockOwned, type RequestScope } from './owned-rows.ts';

const TEST_SECONDS = 60;

export const ChannelSchema = Type.Object({
  id: Id,
  name: Type.String(),
  kind: Type.Enum([...channelKinds]),
  // Host of the URL, or an email address; never the URL itself.
  target: Type.String(),
  createdAt: Timestamp,
});
export const NewChannelSchema = Type.Object(
  {
    name: Label,
    kind: Type.Enum([...channelKinds]),
    url: Type.Optional(
      Type.String({ maxLength: 2048, description: 'Required for all kinds except mail. Never shown again' }),
    ),
    to: Type.Optional({ ...EmailAddress, description: 'For mail' }),
    allowPrivate: AllowPrivate,
  },
  { additionalProperties: false },
);
/** A webhook's secret is shown only once; other channels have none. */
export const MadeChannelSchema = Type.Object({ ...ChannelSchema.properties, secret: nullable(Type.String()) });

const toChannel = viewOf(ChannelSchema);

export async function listChannels(sql: Sql, owner: Owner) {
  return (await listOwned(sql, channelKind, owner)).map(toChannel);
}

/**
 * @returns the channel; a webhook also has its secret. @throws {ApiError} for a target that is not allowed;
 * `limit_reached`.
 */
export async function createChannel(scope: RequestScope, owner: Owner, body: Static<typeof NewChannelSchema>) {
  const { name, kind, allowPrivate = false } = body;
  if (allowPrivate) scope.state.access.operator();
  const { target, secret } = targetOf(scope, body, allowPrivate);
  const id = newId('alertChannel');
  const sealed = sealSecret(scope.env.keys, channelKind, id, JSON.stringify(secret));
  const row = await createOwned(scope, channelKind, owner, {
    id,
    columns: { name, kind, target, secret: sealed, is_private: allowPrivate },
    details: { name, kind, target },
  });
  return { ...toChannel(row), secret: 'secret' in secret ? secret.secret : null };
}

/** The visible and the encrypted part of a channel. */
function targetOf(
  { env: { mail } }: RequestScope,
  { kind, url, to }: Static<typeof NewChannelSchema>,
  isPrivate: boolean,
): { readonly target: string; readonly secret: ChannelSecret } {
  if (kind === 'mail') {
    if (!mail.isOn()) throw new ApiError('not_available', { reason: NO_MAIL });
    if (to === undefined) throw new ApiError('bad_request', { reason: 'body.to: is required: an email address' });
    return { target: to, secret: { to } };
  }
  if (url === undefined) throw new ApiError('bad_request', { reason: 'body.url: is missing' });
  checkTargetUrl('body.url', url, isPrivate);
  const secret = kind === 'webhook' ? { url, secret: newSecret('whsec').secret } : { url };
  return { target: new URL(url).host, secret };
}

/** Sends a test, at most once a minute. @throws {ApiError} `not_found`, `rate_limited`. */
export async function testChannel({ env, state }: RequestScope, owner: Owner, id: string) {
  const { projectId } = owner;
  return env.sql.begin(async (tx) => {
    const { name } = await lockOwned<{ readonly name: string }>(tx, channelKind, owner, id);
    const [wait] = await tx<{ seconds: number }[]>`
      SELECT coalesce(ceil(extract(epoch FROM tested_at - now()) + ${TEST_SECONDS}), 0)::int AS seconds
      FROM control.alert_channel WHERE id = ${id}`;
    const { seconds } = wait!;
    if (seconds > 0) throw new ApiError('rate_limited', { seconds }, { 'retry-after': String(seconds) });
    await tx`UPDATE control.alert_channel SET tested_at = now() WHERE id = ${id}`;
    const message = 'This is a test of the alert channel: there is no problem';
    const event = { projectId, ruleId: null, type: 'test', name, value: null, message, channels: [id] } as const;
    const eventId = await writeEvent(tx, event);
    await state.audit(tx, entryOf(channelKind, owner, id, 'test'));
    return { eventId };
  });
}

/** Deletes a channel with its deliveries. @throws {ApiError} `not_found`. */
export function deleteChannel(scope: RequestScope, owner: Owner, id: string): Promise<void> {
  // No rule may still refer to the channel: changing a rule validates its channels.
  return deleteOwned(
    scope,
    channelKind,
    owner,
    id,
    (tx) => tx`
      UPDATE control.alert_rule SET channels = array_remove(channels, ${id})
      WHERE project_id IS NOT DISTINCT FROM ${owner.projectId}`,
  );
}
