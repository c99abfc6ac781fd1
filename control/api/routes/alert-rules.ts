// Alert rules of a project or of the operator: schemas and operations. The routes of alerts.ts check access.
import Type, { type Static } from '#core/typebox/typebox.mjs';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { operatorRuleKinds, projectRuleKinds, type Measured, type RuleKind } from '../../alerts/measure.ts';
import { readAlertSeries } from '../../alerts/series.ts';
import { ApiError } from '../../http/errors.ts';
import { Id, Label, nullable, Timestamp } from '../../http/schemas.ts';
import { viewOf } from '../../http/view.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { newId } from '../../records/ids.ts';
import type { OwnedTable, Owner } from '../../records/owned-table.ts';
import { readWithin } from '../../telemetry/filter.ts';
import { changeOwned, createOwned, deleteOwned, listOwned, type RequestScope } from './owned-rows.ts';

const table: OwnedTable = {
  subject: 'alert_rule',
  table: 'control.alert_rule',
  id: 'id',
  owner: 'project_id',
  limit: { what: 'alert rules', of: 'alertRulesMax' },
};
const CHANNELS_OF_RULE_MAX = 5;
const FIRING_MAX = 50;
const MINUTE = 60;
/** Default thresholds: days for certificates, milliseconds for latency, percent for other rules. */
const thresholds: Readonly<Record<RuleKind, number>> = {
  error_rate: 5,
  latency: 1000,
  cpu_budget: 80,
  ai_budget: 80,
  certificate: 14,
  disk: 90,
};
const [PERCENT_MAX, LATENCY_MS_MAX] = [100, 600_000];
const CLEAR_SHARE = 0.8;

export const RuleSchema = Type.Object({
  id: Id,
  name: Type.String(),
  kind: Type.Enum([...new Set([...projectRuleKinds, ...operatorRuleKinds])]),
  // In percent; for latency in milliseconds, for certificates in days left.
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

const FiringRule = Type.Object({
  ruleId: Id,
  projectId: Id,
  project: Type.String(),
  name: Type.String(),
  message: Type.String(),
  firedAt: Timestamp,
});
export const FiringSchema = Type.Object({
  total: Type.Integer(),
  items: Type.Array(FiringRule, { description: 'At most fifty' }),
});

/** Values of consecutive windows. */
export const SeriesSchema = nullable(
  Type.Object({
    from: Timestamp,
    to: Timestamp,
    stepMs: Type.Integer(),
    // Oldest first; windows with too little data are omitted.
    items: Type.Array(Type.Object({ at: Timestamp, value: Type.Number() })),
  }),
);

const settings = {
  name: Label,
  threshold: Type.Optional(
    Type.Number({
      minimum: 0.1,
      maximum: LATENCY_MS_MAX,
      description: 'Percent, at most 100; of latency, milliseconds; of certificates, days that are left',
    }),
  ),
  clearBelow: Type.Optional(
    Type.Number({
      minimum: 0.1,
      maximum: LATENCY_MS_MAX,
      description: 'Resolves below this value; default: 80 % of the threshold',
    }),
  ),
  windowMinutes: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1440, description: 'Minutes to measure; default 5' }),
  ),
  evaluations: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 20,
      description: 'Consecutive measurements over the threshold before the rule fires; default 2',
    }),
  ),
  quietMinutes: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1440, description: 'Minimum time between two alerts; default 15' }),
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

interface RuleRow {
  readonly kind: RuleKind;
  readonly threshold: number;
  readonly clear_below: number;
  readonly window_seconds: number;
  readonly quiet_seconds: number;
  readonly enabled: boolean;
  readonly is_firing: boolean;
}

const toRule = viewOf(RuleSchema, {
  windowMinutes: (row: RuleRow) => row.window_seconds / MINUTE,
  quietMinutes: (row: RuleRow) => row.quiet_seconds / MINUTE,
  state: (row: RuleRow) => (!row.enabled ? 'off' : row.is_firing ? 'firing' : 'ok'),
});

export async function listRules(sql: Sql, owner: Owner) {
  return (await listOwned<RuleRow>(sql, table, owner)).map(toRule);
}

/** Rules that fire now in any project of an organization, the newest first. */
export async function listFiring(sql: Sql, organizationId: string) {
  const rows = await sql<{ total: number }[]>`
    SELECT count(*) OVER ()::int AS total, rule.id AS rule_id, rule.project_id, project.name AS project, rule.name,
      rule.message, rule.fired_at
    FROM control.alert_rule AS rule JOIN control.project ON project.id = rule.project_id
    WHERE project.organization_id = ${organizationId} AND project.deleted_at IS NULL AND rule.enabled AND rule.is_firing
    ORDER BY rule.fired_at DESC, rule.id LIMIT ${FIRING_MAX}`;
  return { total: rows[0]?.total ?? 0, items: rows.map(viewOf(FiringRule)) };
}

/** @throws {ApiError} `limit_reached`; `not_found` for a channel of another project. */
export async function createRule(scope: RequestScope, owner: Owner, body: NewRule) {
  const { name, kind, channels, windowMinutes = 5, evaluations = 2, quietMinutes = 15 } = body;
  const threshold = body.threshold ?? thresholds[kind];
  const clearBelow = body.clearBelow ?? threshold * CLEAR_SHARE;
  checkBounds(kind, threshold, clearBelow);
  const columns = {
    name,
    kind,
    threshold,
    clear_below: clearBelow,
    window_seconds: windowMinutes * MINUTE,
    evaluations,
    quiet_seconds: quietMinutes * MINUTE,
    channels,
  };
  const given = { id: newId('alertRule'), columns, details: { name, kind } };
  return toRule(await createOwned<RuleRow>(scope, table, owner, given, (tx) => checkChannels(tx, owner, channels)));
}

/** @throws {ApiError} `not_found`. */
export async function changeRule(scope: RequestScope, owner: Owner, id: string, body: Static<typeof RuleChange>) {
  const { name, evaluations, channels, windowMinutes, quietMinutes } = body;
  const row = await changeOwned<RuleRow>(scope, table, owner, id, async (tx, before) => {
    const threshold = body.threshold ?? before.threshold;
    const clearBelow = body.clearBelow ?? (body.threshold === undefined ? before.clear_below : threshold * CLEAR_SHARE);
    checkBounds(before.kind, threshold, clearBelow);
    if (channels !== undefined) await checkChannels(tx, owner, channels);
    const enabled = body.enabled ?? before.enabled;
    const columns = {
      name,
      threshold,
      clear_below: clearBelow,
      window_seconds: windowMinutes === undefined ? undefined : windowMinutes * MINUTE,
      evaluations,
      quiet_seconds: quietMinutes === undefined ? undefined : quietMinutes * MINUTE,
      channels,
      enabled,
      is_firing: before.is_firing && enabled,
      over_count: 0,
      next_at: tx`now()`,
    };
    return { columns, details: { enabled } };
  });
  return toRule(row);
}

/** The values of a rule; null if it has no window. @throws {ApiError} `not_found`. */
export async function readSeries(env: Dependencies, { projectId }: Owner, id: string) {
  return readWithin(env.sql, env.telemetryLimits.scanMs, async (sql) => {
    const [rule] = await sql<Measured[]>`
      SELECT project_id, kind, threshold, window_seconds FROM control.alert_rule
      WHERE id = ${id} AND project_id IS NOT DISTINCT FROM ${projectId}`;
    if (rule === undefined) throw new ApiError('not_found');
    return readAlertSeries(env, sql, rule);
  });
}

/** Deletes a rule with its events. @throws {ApiError} `not_found`. */
export function deleteRule(scope: RequestScope, owner: Owner, id: string): Promise<void> {
  return deleteOwned(scope, table, owner, id);
}

/** @throws {ApiError} `not_found` for unknown channels and channels of other projects. */
async function checkChannels(tx: Transaction, { projectId }: Owner, channels: readonly string[]): Promise<void> {
  const known = await tx<{ id: string }[]>`
    SELECT id FROM control.alert_channel
    WHERE id = ANY(${[...channels]}) AND project_id IS NOT DISTINCT FROM ${projectId} FOR SHARE`;
  if (channels.some((channel) => !known.some(({ id }) => id === channel))) throw new ApiError('not_found');
}

function checkBounds(kind: RuleKind, threshold: number, clearBelow: number): void {
  if (kind !== 'latency' && threshold > PERCENT_MAX)
    throw new ApiError('bad_request', { reason: `body.threshold: must be at most ${PERCENT_MAX}` });
  if (clearBelow > threshold)
    throw new ApiError('bad_request', { reason: 'body.clearBelow: must not be above the threshold' });
}
