// Stores a batch of records: copies lines, invocations and spans into their tables with COPY, and counts dropped
// ones.
// Called by collect.ts, for one batch at a time across all API processes, so that row numbers follow commit order.
import { copyRows, type CopyValue } from '#postgres/copy-rows.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { TelemetryBatch } from '#core/telemetry.ts';
import { makePartitions } from './partitions.ts';
import type { OwnedSpan } from './otlp.ts';
import { parseRecords, type Records } from './parse-records.ts';

const ACTOR = 'telemetry';
const HALF_DAY_MS = 43_200_000;
/** An arbitrary number, used by no other lock. */
const LOCK_KEY = 7_528_341_018;
const LEVELS: readonly string[] = ['debug', 'info', 'warn', 'error'];
/** Approximate size of a row without its texts. */
const [LINE_BYTES, INVOCATION_BYTES, SPAN_BYTES] = [140, 180, 260];
/** Maximum number of projects in one NOTIFY; above this limit, `*` represents all. */
const NOTIFIED_MAX = 100;

/** Stores batches of one API process. */
export interface TelemetryStore {
  /** @returns the projects with new records; null if the batch was stored before. */
  keep(batch: TelemetryBatch): Promise<ReadonlySet<string> | null>;
}

interface Owner {
  readonly projectId: string;
  readonly branch: string;
}

interface Volume {
  lines: number;
  invocations: number;
  spans: number;
  bytes: number;
  droppedLines: number;
  droppedInvocations: number;
  droppedSpans: number;
}

export function createTelemetryStore({
  sql,
  now = Date.now,
  onSpans,
  counts = { kept: { lines: 0, invocations: 0, spans: 0 } },
}: {
  sql: Sql;
  now?: () => number;
  /** Totals of stored records, updated by the store. */
  counts?: { readonly kept: { lines: number; invocations: number; spans: number } };
  /** Called with stored spans. */
  onSpans?: (spans: readonly OwnedSpan[]) => void;
}): TelemetryStore {
  let partitionsUntil = 0;
  return {
    async keep({ id, records: text }) {
      const at = now();
      if (at > partitionsUntil) {
        await makePartitions(sql, at);
        partitionsUntil = at + HALF_DAY_MS;
      }
      const records = parseRecords(text, at);
      let kept: OwnedSpan[] = [];
      let total: ReadonlyMap<string, Volume> = new Map();
      const projects = await sql.begin(async (tx) => {
        await tx`SELECT pg_advisory_xact_lock(${LOCK_KEY})`;
        const known = await tx`
          INSERT INTO control.idempotency (actor, key, request) VALUES (${ACTOR}, ${id}, ${Buffer.alloc(0)})
          ON CONFLICT DO NOTHING RETURNING key`;
        if (known.length === 0) return null;
        const { volumes, spans } = await keepRecords(tx, records);
        kept = spans;
        total = volumes;
        const hour = new Date(Math.floor(at / 3_600_000) * 3_600_000);
        await keepVolumes(tx, hour, volumes);
        const projects = [...volumes.keys()];
        if (projects.length > 0)
          await tx`SELECT pg_notify('control_telemetry', ${projects.length > NOTIFIED_MAX ? '*' : projects.join(',')})`;
        return new Set(projects);
      });
      for (const { lines, invocations, spans } of total.values()) {
        counts.kept.lines += lines;
        counts.kept.invocations += invocations;
        counts.kept.spans += spans;
      }
      if (projects !== null && kept.length > 0) onSpans?.(kept);
      return projects;
    },
  };
}

async function keepRecords(
  tx: Transaction,
  records: Records,
): Promise<{ volumes: Map<string, Volume>; spans: OwnedSpan[] }> {
  const { lines, invocations, spans, dropped } = records;
  const ownerOf = await findOwners(tx, [...lines, ...invocations, ...spans, ...dropped]);
  const volumes = new Map<string, Volume>();
  const volumeOf = (projectId: string): Volume => {
    let volume = volumes.get(projectId);
    if (volume === undefined)
      volumes.set(
        projectId,
        (volume = {
          lines: 0,
          invocations: 0,
          spans: 0,
          bytes: 0,
          droppedLines: 0,
          droppedInvocations: 0,
          droppedSpans: 0,
        }),
      );
    return volume;
  };
  const rowsOf = <Row extends { readonly project: string; readonly deployment: string; readonly at: number }>(
    list: readonly Row[],
    toRow: (row: Row, volume: Volume) => CopyValue[],
  ): CopyValue[][] =>
    list.flatMap((record) => {
      const owner = ownerOf(record);
      if (owner === null) return [];
      const own = [microTime(record.at), owner.projectId, record.deployment, owner.branch];
      return [[...own, ...toRow(record, volumeOf(owner.projectId))]];
    });
  const common = ['at', 'project_id', 'deployment_id', 'branch'];
  await copyRows(
    tx,
    'control.log_line',
    [...common, 'level', 'kind', 'route', 'invocation', 'trace_id', 'text'],
    rowsOf(lines, (line, volume) => {
      volume.lines++;
      volume.bytes += LINE_BYTES + Buffer.byteLength(line.text);
      return [LEVELS.indexOf(line.level), line.kind, line.route, line.invocation, line.traceId, line.text];
    }),
  );
  await copyRows(
    tx,
    'control.invocation',
    [
      ...common,
      'invocation',
      'kind',
      'method',
      'path',
      'route',
      'status',
      'outcome',
      'error',
      'cpu_ms',
      'wall_ms',
      'first_byte_ms',
      'trace_id',
      'request',
    ],
    rowsOf(invocations, (of, volume) => {
      const request = of.request === null ? null : JSON.stringify(of.request);
      volume.invocations++;
      volume.bytes += INVOCATION_BYTES + of.path.length + of.error.length + (request?.length ?? 0);
      const { invocation, kind, method, path, route, status, outcome, error, cpuMs, wallMs, firstByteMs, traceId } = of;
      const described = [invocation, kind, method, path, route, status, outcome, error];
      return [...described, cpuMs, wallMs, firstByteMs, traceId, request];
    }),
  );
  await copyRows(
    tx,
    'control.span',
    [
      ...common,
      'trace_id',
      'span_id',
      'parent_id',
      'is_root',
      'name',
      'kind',
      'ms',
      'error',
      'invocation',
      'attributes',
      'links',
    ],
    rowsOf(spans, (span, volume) => {
      const attributes = JSON.stringify(span.attributes);
      volume.spans++;
      volume.bytes += SPAN_BYTES + attributes.length;
      const { traceId, spanId, parentId, isRoot, name, kind, ms, error, invocation, links } = span;
      return [traceId, spanId, parentId, isRoot, name, kind, ms, error, invocation, attributes, links];
    }),
  );
  for (const record of dropped) {
    const owner = ownerOf(record);
    if (owner === null) continue;
    const volume = volumeOf(owner.projectId);
    volume.droppedLines += record.lines;
    volume.droppedInvocations += record.invocations;
    volume.droppedSpans += record.spans;
  }
  const owned = spans.flatMap((span) => {
    const owner = ownerOf(span);
    return owner === null
      ? []
      : [{ ...span, projectId: owner.projectId, deploymentId: span.deployment, branch: owner.branch }];
  });
  return { volumes, spans: owned };
}

/** With microseconds, to order spans within a millisecond. */
function microTime(ms: number): string {
  const whole = Math.floor(ms);
  const micros = Math.min(999, Math.round((ms - whole) * 1000));
  return `${new Date(whole).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
}

/** Finds the owners of records; records of unknown projects are dropped. */
async function findOwners(
  tx: Transaction,
  records: readonly { readonly project: string; readonly deployment: string }[],
): Promise<(record: { readonly project: string; readonly deployment: string }) => Owner | null> {
  const projects = [...new Set(records.map(({ project }) => project))];
  const deployments = [...new Set(records.map(({ deployment }) => deployment))];
  if (projects.length === 0) return () => null;
  const found = await tx<{ id: string; name: string }[]>`
    SELECT id, name FROM control.project WHERE name = ANY(${projects}) AND deleted_at IS NULL`;
  const idOf = new Map(found.map(({ id, name }) => [name, id]));
  const known = await tx<{ id: string; project_id: string; branch: string }[]>`
    SELECT id, project_id, branch FROM control.deployment WHERE id = ANY(${deployments})`;
  const deploymentOf = new Map(known.map((row) => [row.id, row]));
  return ({ project, deployment }) => {
    const projectId = idOf.get(project);
    if (projectId === undefined) return null;
    const row = deploymentOf.get(deployment);
    return { projectId, branch: row?.project_id === projectId ? row.branch : '' };
  };
}

async function keepVolumes(tx: Transaction, hour: Date, volumes: ReadonlyMap<string, Volume>): Promise<void> {
  if (volumes.size === 0) return;
  const rows = [...volumes].map(([projectId, volume]) => ({ projectId, ...volume }));
  await tx`
    INSERT INTO control.telemetry_hour AS kept (project_id, hour, lines, invocations, spans, bytes,
      dropped_lines, dropped_invocations, dropped_spans)
    SELECT "projectId", ${hour}, lines, invocations, spans, bytes, "droppedLines", "droppedInvocations", "droppedSpans"
    FROM jsonb_to_recordset(${tx.json(rows as never)}) AS told ("projectId" text, lines bigint, invocations bigint,
      spans bigint, bytes bigint, "droppedLines" bigint, "droppedInvocations" bigint, "droppedSpans" bigint)
    ON CONFLICT (project_id, hour) DO UPDATE SET
      lines = kept.lines + excluded.lines,
      invocations = kept.invocations + excluded.invocations,
      spans = kept.spans + excluded.spans,
      bytes = kept.bytes + excluded.bytes,
      dropped_lines = kept.dropped_lines + excluded.dropped_lines,
      dropped_invocations = kept.dropped_invocations + excluded.dropped_invocations,
      dropped_spans = kept.dropped_spans + excluded.dropped_spans`;
}
