// Delivers stored lines to drains: one batch at a time, in order, from each drain's cursor. The cursor moves after a
// batch was delivered, so a restart loses no lines, and a batch may arrive twice. Failed batches are retried at growing
// intervals; then the drain is paused until someone enables it. Started by main.ts.
import { randomUUID } from 'node:crypto';
import type { Resolve } from '#core/outbound/post.ts';
import { runDueWork } from '../outbound/due-work.ts';
import { drainKind, openSecret, retryIn, UNREADABLE } from '../outbound/subscription.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { readBatch, type DrainBatch, type DrainFilter } from './batch.ts';
import { sendLines, type Drain, type SendResult } from './send.ts';
import type { ShownTarget, TargetSecret } from './target.ts';

/** Delays after each failed attempt, ten hours in total. After the last attempt, the drain is paused. */
const WAITS_SECONDS = [5, 30, 120, 600, 1800, 3600, 7200, 10_800, 10_800];
const LEASE_SECONDS = 60;
/** Pause between batches that are not full, so that single lines are sent together. */
const TOGETHER_SECONDS = 1;

/** The columns of a drain that sending needs. */
export interface DrainRow extends DrainFilter {
  readonly id: string;
  readonly project_name: string;
  readonly target: ShownTarget;
  readonly secret: Buffer;
  readonly is_private: boolean;
}

interface Claimed extends DrainRow {
  readonly cursor: number;
  readonly lease: string;
  readonly failures: number;
}

/** Delivers until the process ends. @param resolve for tests. */
export function runDrains(deps: Dependencies, resolve?: Resolve): Promise<void> {
  return runDueWork<Claimed>(deps, {
    what: 'Batches of drains',
    channel: 'control_telemetry',
    pollMs: TOGETHER_SECONDS * 1000,
    ofOneMax: 2,
    claim: (busy) => claim(deps, busy),
    ownerOf: ({ project_id: projectId }) => projectId,
    run: (claimed) => deliver(deps, claimed, resolve),
  });
}

/** @throws {Error} if the secret of the drain cannot be decrypted. */
export function openDrain({ keys }: Pick<Dependencies, 'keys'>, row: DrainRow): Drain {
  const { id, project_name: projectName, target, is_private: isPrivate } = row;
  const secret = JSON.parse(openSecret(keys, drainKind, id, row.secret)) as TargetSecret;
  return { id, projectName, target, secret, isPrivate };
}

/** Claims a drain that has lines after its cursor. */
async function claim({ sql }: Dependencies, busy: readonly string[]): Promise<Claimed | null> {
  const [claimed] = await sql<Claimed[]>`
    UPDATE control.log_drain AS drain
       SET lease = ${randomUUID()}, lease_until = now() + ${LEASE_SECONDS} * interval '1 second'
      FROM control.project
     WHERE project.id = drain.project_id AND drain.id = (
       SELECT one.id FROM control.log_drain AS one
         JOIN control.project AS of_one ON of_one.id = one.project_id AND of_one.deleted_at IS NULL
        WHERE one.enabled AND one.paused_at IS NULL AND one.next_at <= now()
          AND (one.lease_until IS NULL OR one.lease_until < now()) AND one.project_id <> ALL(${[...busy]})
          AND EXISTS (SELECT 1 FROM control.log_line AS line
                       WHERE line.project_id = one.project_id AND line.seq > one.cursor)
        ORDER BY one.next_at LIMIT 1 FOR UPDATE OF one SKIP LOCKED)
    RETURNING drain.*, project.name AS project_name`;
  return claimed ?? null;
}

async function deliver(deps: Dependencies, claimed: Claimed, resolve?: Resolve): Promise<void> {
  const { drainLinesMax: linesMax, drainBytesMax: bytesMax } = deps.limits;
  const batch = await readBatch(deps.sql, claimed, claimed.cursor, { linesMax, bytesMax });
  if (batch === null || batch.lines.length === 0) return passOver(deps, claimed, batch);
  let sent: SendResult;
  try {
    sent = await sendLines(openDrain(deps, claimed), batch.lines, resolve);
  } catch {
    sent = { status: null, error: UNREADABLE, bytes: 0 };
  }
  await (sent.error === null ? arrived(deps, claimed, batch, sent) : failed(deps, claimed, sent));
}

/** Updates the drain only if it still has the claimed lease, because it may have been changed since. */
async function passOver(
  { sql }: Dependencies,
  { id, lease, cursor }: Claimed,
  batch: DrainBatch | null,
): Promise<void> {
  await sql`
    UPDATE control.log_drain SET lease = NULL, lease_until = NULL, cursor = ${batch?.cursor ?? cursor}
    WHERE id = ${id} AND lease = ${lease}`;
}

async function arrived(
  { sql }: Dependencies,
  { id, lease }: Claimed,
  batch: DrainBatch,
  sent: SendResult,
): Promise<void> {
  await sql`
    UPDATE control.log_drain
       SET lease = NULL, lease_until = NULL, cursor = ${batch.cursor}, failures = 0, status = ${sent.status},
           error = NULL, failed_at = NULL, delivered_at = now(), delivered_lines = delivered_lines + ${batch.lines.length},
           delivered_bytes = delivered_bytes + ${sent.bytes},
           next_at = now() + ${batch.isFull ? 0 : TOGETHER_SECONDS} * interval '1 second'
     WHERE id = ${id} AND lease = ${lease}`;
}

async function failed({ sql, log }: Dependencies, claimed: Claimed, { status, error }: SendResult): Promise<void> {
  const { id, lease, failures, project_id: projectId } = claimed;
  const wait = retryIn(WAITS_SECONDS, failures + 1);
  await sql`
    UPDATE control.log_drain
       SET lease = NULL, lease_until = NULL, failures = failures + 1, status = ${status}, error = ${error},
           failed_at = now(), next_at = now() + ${wait ?? 0} * interval '1 second',
           paused_at = ${wait === null ? sql`now()` : null}
     WHERE id = ${id} AND lease = ${lease}`;
  if (wait === null) log.warn({ drain: id, projectId, reason: error }, 'Drain paused');
}
