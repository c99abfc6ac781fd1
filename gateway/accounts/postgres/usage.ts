// Writes usage rows to Postgres in batches, after the responses. While the database is unavailable, a limited number is
// buffered.
import { isConnectionError, sqlState } from '#postgres/postgres-error.ts';
import type { Postgres } from '#postgres/connection.ts';
import type { AiCallerKind } from '#core/ai-caller.ts';
import type { Plan } from '#core/plans.ts';
import type { GatewayDeps, UsageRow } from '../../contract/contract.ts';
import type { UsageBook } from '../accounts.ts';
import { readSums } from './usage-sums.ts';

const TOGETHER_MS = 250;
/** Pause between attempts while the database is unavailable. */
const AGAIN_MS = 2000;
const TOGETHER_MAX = 500;
const WAITING_MAX = 50_000;
const TEXT_MAX = 500;

/** A row of the table, with times in ms since 1970. */
interface Row {
  readonly id: string;
  readonly at: number;
  readonly kind: AiCallerKind;
  readonly organization_id: string;
  readonly project_id: string | null;
  readonly deployment_id: string | null;
  readonly branch: string | null;
  readonly run_id: string | null;
  readonly key_id: string | null;
  readonly plan: Plan;
  readonly model_requested: string;
  readonly model: string | null;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly is_estimated: boolean;
  readonly cost_micros: number | null;
  readonly status: number;
  readonly is_stream: boolean;
  readonly first_byte_ms: number | null;
  readonly total_ms: number;
}

const COLUMNS = `id, at, kind, organization_id, project_id, deployment_id, branch, run_id, key_id, plan, model_requested, model,
  prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, is_estimated, cost_micros, status, is_stream,
  first_byte_ms, total_ms`;
const INSERT = `
  INSERT INTO control.ai_usage (${COLUMNS})
  SELECT ${COLUMNS.replace(' at,', ' to_timestamp(at / 1000),')} FROM jsonb_to_recordset($1::jsonb) AS r (
    id text, at double precision, kind text, organization_id text, project_id text, deployment_id text, branch text,
    run_id text, key_id text, plan text, model_requested text, model text, prompt_tokens bigint, completion_tokens bigint,
    cached_tokens bigint, reasoning_tokens bigint, is_estimated boolean, cost_micros bigint, status integer,
    is_stream boolean, first_byte_ms double precision, total_ms double precision)
  ON CONFLICT DO NOTHING`;
const SELECT = `
  SELECT ${COLUMNS.replace(' at,', ' (extract(epoch FROM at) * 1000)::double precision AS at,')}
  FROM control.ai_usage WHERE organization_id = $1 ORDER BY control.ai_usage.at DESC, id DESC LIMIT $2`;

export function createUsage(sql: Postgres, log: GatewayDeps['log']): UsageBook & { close(): Promise<void> } {
  let waiting: UsageRow[] = [];
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();
  let dropped = 0;

  const later = (ms: number = TOGETHER_MS): void => {
    timer ??= setTimeout(() => void write().catch(() => {}), ms);
  };
  const write = (): Promise<void> => (writing = writing.then(writeAll, writeAll));

  async function writeAll(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    while (waiting.length > 0) {
      const rows = waiting.slice(0, TOGETHER_MAX);
      waiting = waiting.slice(TOGETHER_MAX);
      try {
        await sql.all(INSERT, JSON.stringify(rows.map(toRow)));
      } catch (error) {
        const code = sqlState(error);
        if (isConnectionError(error)) {
          waiting = [...rows, ...waiting];
          later(AGAIN_MS);
        }
        log('error', 'rows of AI usage were not written', {
          rows: rows.length,
          code,
          again: isConnectionError(error),
        });
        throw error;
      }
    }
  }

  return {
    record(row) {
      if (waiting.length < WAITING_MAX) waiting.push(row);
      else if (dropped++ % WAITING_MAX === 0)
        log('error', 'rows of AI usage are lost: the database was unavailable for too long', { kept: WAITING_MAX });
      if (waiting.length >= TOGETHER_MAX && timer !== null) void write().catch(() => {});
      else later();
    },
    flush: write,
    async rowsOf(organizationId, most) {
      return (await sql.all<Row>(SELECT, organizationId, most)).map(fromRow);
    },
    async sum(question) {
      await write();
      return readSums(sql, question);
    },
    async close() {
      await write().catch(() => {});
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** Sanitizes texts and numbers from clients and providers, so that no value makes a whole batch fail. */
function toRow({ caller, ...row }: UsageRow): Row {
  return {
    id: row.id,
    at: row.at,
    kind: caller.kind,
    organization_id: caller.organizationId,
    project_id: caller.projectId,
    deployment_id: caller.deploymentId,
    branch: text(caller.branch),
    run_id: text(caller.runId),
    key_id: caller.keyId ?? null,
    plan: caller.plan,
    model_requested: text(row.modelRequested) ?? '',
    model: text(row.model),
    prompt_tokens: count(row.promptTokens),
    completion_tokens: count(row.completionTokens),
    cached_tokens: count(row.cachedTokens),
    reasoning_tokens: count(row.reasoningTokens),
    is_estimated: row.isEstimated,
    cost_micros: row.costMicros === null ? null : count(row.costMicros),
    status: row.status,
    is_stream: row.isStream,
    first_byte_ms: row.firstByteMs,
    total_ms: row.totalMs,
  };
}

function fromRow(row: Row): UsageRow {
  return {
    id: row.id,
    at: row.at,
    caller: {
      kind: row.kind,
      organizationId: row.organization_id,
      projectId: row.project_id,
      deploymentId: row.deployment_id,
      branch: row.branch,
      plan: row.plan,
      runId: row.run_id,
      ...(row.key_id !== null && { keyId: row.key_id }),
    },
    modelRequested: row.model_requested,
    model: row.model,
    promptTokens: row.prompt_tokens,
    completionTokens: row.completion_tokens,
    cachedTokens: row.cached_tokens,
    reasoningTokens: row.reasoning_tokens,
    isEstimated: row.is_estimated,
    costMicros: row.cost_micros,
    status: row.status,
    isStream: row.is_stream,
    firstByteMs: row.first_byte_ms,
    totalMs: row.total_ms,
  };
}

const text = (value: string | null): string | null =>
  value === null ? null : value.slice(0, TEXT_MAX).replaceAll('\0', '').toWellFormed();

/** Clamped to an integer that the column can store. */
export const count = (value: number): number =>
  Number.isNaN(value) ? 0 : Math.round(Math.min(Math.max(value, 0), Number.MAX_SAFE_INTEGER));
