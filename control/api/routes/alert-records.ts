// Alert rules, channels and events, of a project or of the operator: schemas and operations. The routes of alerts.ts
// check access.
import Type, { type Static } from '#core/typebox/typebox.mjs';
import { seal } from '#core/encryption.ts';
import { urlProblem } from '#core/way-out/post.ts';
import type { Transaction } from '#postgres/sql.ts';
import { channelContext, channelKinds, NO_MAIL, type ChannelKind, type ChannelSecret } from '../../alerts/deliver.ts';
import { writeEvent } from '../../alerts/evaluate.ts';
import { operatorRuleKinds, projectRuleKinds, type RuleKind } from '../../alerts/measure.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { newId } from '../../records/ids.ts';
import { newSecret } from '../../access/secrets.ts';
import { momentOfColumn } from '../../records/moment.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { momentOf, pageOf, readPage, toPage } from '../../http/page.ts';
import { Id, Label, nullable, Timestamp } from '../../http/schemas.ts';

/** Owner of alerts; nulls: the operator. */
export interface AlertOwner {
  readonly projectId: string | null;
  readonly organizationId: string | null;
}

/** The parts of a request that these functions need. */
interface Asked {
  readonly env: Dependencies;
  readonly state: RequestState;
}

const CHANNELS_OF_RULE_MAX = 5;
const TEST_SECONDS = 60;
const HISTORY_DELIVERIES_MAX = 10;
const MINUTE = 60;
/** Default thresholds: days for certificates, percent for the others. */
const thresholds: Readonly<Record<RuleKind, number>> = { error_rate: 5, cpu_budget: 80, certificate: 14, disk: 90 };
const CLEAR_SHARE = 0.8;

export const RuleSchema = Type.Object({
  id: Id,
  name: Type.String(),
  kind: Type.Enum([...new Set([...projectRuleKinds, ...operatorRuleKinds])]),
  // Percent; for certificates, days left.
  threshold: Type.Number(),
  clearBelow: Type.Number(),
  windowMinutes: Type.Integer(),
  evaluations: Type.Integer(),
  quietMinutes: Type.Integer(),
  channels: Type.Array(Id),
  state: Type.Enum(['ok', 'firing', 'off']),
  // Value of the last evaluation.
  value: nullable(Type.Number()),
  message: Type.String(),
  evaluatedAt: nullable(Timestamp),
  firedAt: nullable(Timestamp),
  createdAt: Timestamp,
});

const settings = {
  name: Label,
  threshold: Type.Optional(
    Type.Number({ minimum: 0.1, maximum: 100, description: 'Percent; of certificates, days that are left' }),
  ),
  clearBelow: Type.Optional(
    Type.Number({ minimum: 0.1, maximum: 100, description: 'It resolves below; four fifths of the threshold' }),
  ),
  windowMinutes: Type.Optional(Type.Integer({ minimum: 1, maximum: 1440, description: 'What is looked at; 5' })),
  evaluations: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 20, description: 'In a row that are over before it fires; 2' }),
  ),
  quietMinutes: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1440, description: 'Between the beginnings of two alerts, at least; 15' }),
  ),
  channels: Type.Array(Id, { maxItems: CHANNELS_OF_RULE_MAX }),
};
const ruleOf = <Kind extends RuleKind>(kinds: readonly Kind[]) =>
  Type.Object({ ...settings, kind: Type.Enum([...kinds]) }, { additionalProperties: false });
export const NewProjectRule = ruleOf(projectRuleKinds);
export const NewOperatorRule = ruleOf(operatorRuleKinds);
type NewRule = Static<typeof NewProjectRule> | Static<typeof NewOperatorRule>;
export const RuleChange = Type.Object(
  {
    ...settings,
    name: Type.Optional(settings.name),
    channels: Type.Optional(settings.channels),
    enabled: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false, minProperties: 1 },
);

export const ChannelSchema = Type.Object({
  id: Id,
  name: Type.String(),
  kind: Type.Enum([...channelKinds]),
  // Its host, or an email address; never the URL.
  target: Type.String(),
  createdAt: Timestamp,
});
export const NewChannelSchema = Type.Object(
  {
    name: Label,
    kind: Type.Enum([...channelKinds]),
    url: Type.Optional(Type.String({ maxLength: 2048, description: 'Of all but mail. It is not shown again' })),
    to: Type.Optional(
      Type.String({ maxLength: 254, pattern: '^[^\\s@<>,;"]+@[^\\s@<>,;"]+$', description: 'Of mail' }),
    ),
    allowPrivate: Type.Optional(
      Type.Boolean({ description: 'May lead to http and private addresses; only operators may' }),
    ),
  },
  { additionalProperties: false },
);
/** A webhook's secret is shown only once; other channels have none. */
export const MadeChannelSchema = Type.Object({ ...ChannelSchema.properties, secret: nullable(Type.String()) });

export const HistorySchema = pageOf(
  Type.Object({
    id: Id,
    ruleId: nullable(Id),
    type: Type.Enum(['fired', 'resolved', 'test']),
    name: Type.String(),
    value: nullable(Type.Number()),
    message: Type.String(),
    createdAt: Timestamp,
    deliveries: Type.Array(
      Type.Object({
        channel: Type.String(),
        state: Type.Enum(['waiting', 'delivered', 'failed']),
        attempt: Type.Integer(),
        error: nullable(Type.String()),
      }),
    ),
  }),
);

interface RuleRow {
  readonly id: string;
  readonly name: string;
  readonly kind: RuleKind;
  readonly threshold: number;
  readonly clear_below: number;
  readonly window_seconds: number;
  readonly evaluations: number;
  readonly quiet_seconds: number;
  readonly channels: string[];
  readonly enabled: boolean;
  readonly is_firing: boolean;
  readonly value: number | null;
  readonly message: string;
  readonly evaluated_at: Date | null;
  readonly fired_at: Date | null;
  readonly created_at: Date;
}

const toRule = (row: RuleRow): Static<typeof RuleSchema> => ({
  id: row.id,
  name: row.name,
  kind: row.kind,
  threshold: row.threshold,
  clearBelow: row.clear_below,
  windowMinutes: row.window_seconds / MINUTE,
  evaluations: row.evaluations,
  quietMinutes: row.quiet_seconds / MINUTE,
  channels: row.channels,
  state: !row.enabled ? 'off' : row.is_firing ? 'firing' : 'ok',
  value: row.value,
  message: row.message,
  evaluatedAt: row.evaluated_at?.toISOString() ?? null,
  firedAt: row.fired_at?.toISOString() ?? null,
  createdAt: row.created_at.toISOString(),
});

export async function listRules({ env: { sql } }: Asked, { projectId }: AlertOwner) {
  const rows = await sql<RuleRow[]>`
    SELECT * FROM control.alert_rule WHERE project_id IS NOT DISTINCT FROM ${projectId} ORDER BY created_at, id`;
  return rows.map(toRule);
}

export async function makeRule({ env, state }: Asked, owner: AlertOwner, body: NewRule) {
  const { projectId } = owner;
  const { name, kind, channels, windowMinutes = 5, evaluations = 2, quietMinutes = 15 } = body;
  const threshold = body.threshold ?? thresholds[kind];
  const clearBelow = body.clearBelow ?? threshold * CLEAR_SHARE;
  checkBounds(threshold, clearBelow);
  const row = await env.sql.begin(async (tx) => {
    // Serialized, so that the limit holds.
    await tx`LOCK TABLE control.alert_rule IN SHARE ROW EXCLUSIVE MODE`;
    const [count] = await tx<{ count: number }[]>`
      SELECT count(*)::int AS count FROM control.alert_rule WHERE project_id IS NOT DISTINCT FROM ${projectId}`;
    const allowed = env.limits.alertRulesMax;
    if (count!.count >= allowed) throw new ApiError('limit_reached', { what: 'alert rules', allowed });
    await checkChannels(tx, owner, channels);
    const [made] = await tx<RuleRow[]>`
      INSERT INTO control.alert_rule (id, project_id, name, kind, threshold, clear_below, window_seconds, evaluations,
        quiet_seconds, channels)
      VALUES (${newId('alertRule')}, ${projectId}, ${name}, ${kind}, ${threshold}, ${clearBelow},
        ${windowMinutes * MINUTE}, ${evaluations}, ${quietMinutes * MINUTE}, ${channels})
      RETURNING *`;
    await state.audit(tx, { ...subject(owner, 'alert_rule', made!.id, 'create'), details: { name, kind } });
    return made!;
  });
  return toRule(row);
}

export async function changeRule(
  { env, state }: Asked,
  owner: AlertOwner,
  id: string,
  body: Static<typeof RuleChange>,
) {
  const row = await env.sql.begin(async (tx) => {
    const [before] = await tx<RuleRow[]>`
      SELECT * FROM control.alert_rule WHERE id = ${id} AND project_id IS NOT DISTINCT FROM ${owner.projectId}
      FOR UPDATE`;
    if (before === undefined) throw new ApiError('not_found');
    const threshold = body.threshold ?? before.threshold;
    const clearBelow = body.clearBelow ?? (body.threshold === undefined ? before.clear_below : threshold * CLEAR_SHARE);
    checkBounds(threshold, clearBelow);
    if (body.channels !== undefined) await checkChannels(tx, owner, body.channels);
    const enabled = body.enabled ?? before.enabled;
    const [after] = await tx<RuleRow[]>`
      UPDATE control.alert_rule SET name = ${body.name ?? before.name}, threshold = ${threshold},
        clear_below = ${clearBelow}, window_seconds = ${body.windowMinutes === undefined ? before.window_seconds : body.windowMinutes * MINUTE},
        evaluations = ${body.evaluations ?? before.evaluations},
        quiet_seconds = ${body.quietMinutes === undefined ? before.quiet_seconds : body.quietMinutes * MINUTE},
        channels = ${body.channels ?? before.channels}, enabled = ${enabled},
        is_firing = is_firing AND ${enabled}, over_count = 0, next_at = now()
      WHERE id = ${id} RETURNING *`;
    await state.audit(tx, { ...subject(owner, 'alert_rule', id, 'update'), details: { enabled } });
    return after!;
  });
  return toRule(row);
}

/** @throws {ApiError} `not_found` for unknown channels and those of other projects. */
async function checkChannels(tx: Transaction, { projectId }: AlertOwner, channels: readonly string[]): Promise<void> {
  const known = await tx<{ id: string }[]>`
    SELECT id FROM control.alert_channel
    WHERE id = ANY(${[...channels]}) AND project_id IS NOT DISTINCT FROM ${projectId} FOR SHARE`;
  if (channels.some((channel) => !known.some(({ id }) => id === channel))) throw new ApiError('not_found');
}

function checkBounds(threshold: number, clearBelow: number): void {
  if (clearBelow > threshold)
    throw new ApiError('bad_request', { reason: 'body.clearBelow: must not be above the threshold' });
}

interface ChannelRow {
  readonly id: string;
  readonly name: string;
  readonly kind: ChannelKind;
  readonly target: string;
  readonly created_at: Date;
}

const toChannel = ({ id, name, kind, target, created_at: createdAt }: ChannelRow) => ({
  id,
  name,
  kind,
  target,
  createdAt: createdAt.toISOString(),
});

export async function listChannels({ env: { sql } }: Asked, { projectId }: AlertOwner) {
  const rows = await sql<ChannelRow[]>`
    SELECT * FROM control.alert_channel WHERE project_id IS NOT DISTINCT FROM ${projectId} ORDER BY created_at, id`;
  return rows.map(toChannel);
}

/** @throws {ApiError} for a target that is not allowed. */
export async function makeChannel({ env, state }: Asked, owner: AlertOwner, body: Static<typeof NewChannelSchema>) {
  const { projectId } = owner;
  const { name, kind, url, to, allowPrivate = false } = body;
  if (allowPrivate) state.access.operator();
  const secret = kind === 'webhook' ? newSecret('whsec').secret : null;
  const [target, sealed] = targetOf(env, { kind, url, to, allowPrivate, secret });
  const id = newId('alertChannel');
  const row = await env.sql.begin(async (tx) => {
    await tx`LOCK TABLE control.alert_channel IN SHARE ROW EXCLUSIVE MODE`;
    const [count] = await tx<{ count: number }[]>`
      SELECT count(*)::int AS count FROM control.alert_channel WHERE project_id IS NOT DISTINCT FROM ${projectId}`;
    const allowed = env.limits.alertChannelsMax;
    if (count!.count >= allowed) throw new ApiError('limit_reached', { what: 'alert channels', allowed });
    const [made] = await tx<ChannelRow[]>`
      INSERT INTO control.alert_channel (id, project_id, name, kind, target, secret, is_private)
      VALUES (${id}, ${projectId}, ${name}, ${kind}, ${target},
        ${seal(env.keys, JSON.stringify(sealed), channelContext(id))}, ${allowPrivate})
      RETURNING *`;
    await state.audit(tx, { ...subject(owner, 'alert_channel', id, 'create'), details: { name, kind, target } });
    return made!;
  });
  return { ...toChannel(row), secret };
}

interface GivenTarget {
  readonly kind: ChannelKind;
  readonly url: string | undefined;
  readonly to: string | undefined;
  readonly allowPrivate: boolean;
  readonly secret: string | null;
}

function targetOf(
  { mailUrl }: Dependencies,
  { kind, url, to, allowPrivate, secret }: GivenTarget,
): readonly [shown: string, sealed: ChannelSecret] {
  if (kind === 'mail') {
    if (mailUrl === null) throw new ApiError('not_available', { reason: NO_MAIL });
    if (to === undefined) throw new ApiError('bad_request', { reason: 'body.to: is required: an email address' });
    return [to, { to }];
  }
  const problem = url === undefined ? 'is missing' : urlProblem(url, allowPrivate);
  if (problem !== null) throw new ApiError('bad_request', { reason: `body.url: ${problem}` });
  return [new URL(url!).host, { url: url!, ...(secret !== null && { secret }) }];
}

export async function testChannel({ env, state }: Asked, owner: AlertOwner, id: string) {
  const { projectId } = owner;
  return env.sql.begin(async (tx) => {
    const [channel] = await tx<{ name: string; waits: number }[]>`
      SELECT name, coalesce(ceil(extract(epoch FROM tested_at - now()) + ${TEST_SECONDS}), 0)::int AS waits
      FROM control.alert_channel WHERE id = ${id} AND project_id IS NOT DISTINCT FROM ${projectId} FOR UPDATE`;
    if (channel === undefined) throw new ApiError('not_found');
    const { name, waits } = channel;
    if (waits > 0) throw new ApiError('rate_limited', { seconds: waits }, { 'retry-after': String(waits) });
    await tx`UPDATE control.alert_channel SET tested_at = now() WHERE id = ${id}`;
    const message = 'A test of this channel: nothing is wrong';
    const eventId = await writeEvent(tx, {
      projectId,
      ruleId: null,
      type: 'test',
      name,
      value: null,
      message,
      channels: [id],
    });
    await state.audit(tx, subject(owner, 'alert_channel', id, 'test'));
    return { eventId };
  });
}

/** Deletes a rule with its events, or a channel with its deliveries. */
export async function deleteOne({ env, state }: Asked, owner: AlertOwner, kind: 'rule' | 'channel', id: string) {
  await env.sql.begin(async (tx) => {
    const { count } = await tx`
      DELETE FROM ${tx(`control.alert_${kind}`)}
      WHERE id = ${id} AND project_id IS NOT DISTINCT FROM ${owner.projectId}`;
    if (count === 0) throw new ApiError('not_found');
    // No rule may still refer to it: changing a rule validates its channels.
    if (kind === 'channel')
      await tx`
        UPDATE control.alert_rule SET channels = array_remove(channels, ${id})
        WHERE project_id IS NOT DISTINCT FROM ${owner.projectId}`;
    await state.audit(tx, subject(owner, `alert_${kind}`, id, 'delete'));
  });
}

interface EventRow {
  readonly id: string;
  readonly rule_id: string | null;
  readonly type: 'fired' | 'resolved' | 'test';
  readonly name: string;
  readonly value: number | null;
  readonly message: string;
  readonly created_at: Date;
  readonly position: string;
  readonly deliveries: {
    channel: string;
    state: 'waiting' | 'delivered' | 'failed';
    attempt: number;
    error: string | null;
  }[];
}

export async function readHistory(
  { env: { sql } }: Asked,
  { projectId }: AlertOwner,
  query: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
) {
  const { count, after } = readPage(query);
  const rows = await sql<EventRow[]>`
    SELECT event.*, ${momentOfColumn(sql, 'event.created_at')} AS position, coalesce((
      SELECT json_agg(json_build_object('channel', channel.name, 'attempt', attempt, 'error', error, 'state', CASE
        WHEN delivered_at IS NOT NULL THEN 'delivered' WHEN due_at IS NOT NULL THEN 'waiting' ELSE 'failed' END))
      FROM (SELECT * FROM control.alert_delivery WHERE event_id = event.id LIMIT ${HISTORY_DELIVERIES_MAX}) AS delivery
      JOIN control.alert_channel AS channel ON channel.id = channel_id), '[]') AS deliveries
    FROM control.alert_event AS event WHERE event.project_id IS NOT DISTINCT FROM ${projectId}
      ${after === null ? sql`` : sql`AND (event.created_at, event.id) < (${momentOf(after)}::text::timestamptz, ${after.id})`}
    ORDER BY event.created_at DESC, event.id DESC LIMIT ${count}`;
  return toPage(
    rows,
    count,
    ({ id, rule_id: ruleId, type, name, value, message, created_at: createdAt, deliveries }) => ({
      id,
      ruleId,
      type,
      name,
      value,
      message,
      createdAt: createdAt.toISOString(),
      deliveries,
    }),
    (row) => ({ order: row.position, id: row.id }),
  );
}

function subject({ organizationId, projectId }: AlertOwner, subjectKind: string, subjectId: string, verb: string) {
  return { organizationId, projectId, action: `${subjectKind}.${verb}`, subjectKind, subjectId };
}
