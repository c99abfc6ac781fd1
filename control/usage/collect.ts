// Takes usage of deployments from the supervisor into the ledger (control.usage), every few seconds. A stored batch is
// acknowledged by the next request; a batch that is sent again because this process ended in between is recognized by
// its id and counted once. Started by main.ts.
import { pause } from '#core/process/wake.ts';
import { COSTLIEST_MAX, type UsageBatch } from '#core/usage-row.ts';
import type { Dependencies } from '../process/dependencies.ts';

const EVERY_MS = 10_000;
const WAIT_MS = 10_000;
const ACTOR = 'usage';

/** Takes batches until the process shuts down. */
export async function collectUsage(deps: Dependencies): Promise<void> {
  const { stopping, log } = deps;
  let acknowledged: string | null = null;
  while (!stopping.aborted) {
    try {
      const taken = await takeUsage(deps, acknowledged);
      acknowledged = taken;
      // After a batch, ask again immediately: there may be more, and the request acknowledges this one.
      if (taken !== null) continue;
    } catch (error) {
      log.warn({ reason: (error as Error).message }, 'Usage not taken');
    }
    await pause(EVERY_MS, stopping);
  }
}

/**
 * Takes one batch and stores it.
 *
 * @param acknowledged id of the last stored batch. @returns the id of the new batch; null: there was none.
 * @throws {Error} if the supervisor or the database is unavailable: the same batch is then sent again.
 */
export async function takeUsage(
  { privatePort, sql }: Pick<Dependencies, 'privatePort' | 'sql'>,
  acknowledged: string | null,
): Promise<string | null> {
  const { status, body } = await privatePort.ask<UsageBatch>('/_platform/usage', { acknowledged }, WAIT_MS);
  if (status !== 200) throw new Error(`the platform answered ${status}`);
  const { id, rows } = body;
  if (id === null) return null;
  await sql.begin(async (tx) => {
    const known = await tx`
      INSERT INTO control.idempotency (actor, key, request) VALUES (${ACTOR}, ${id}, ${Buffer.alloc(0)})
      ON CONFLICT DO NOTHING RETURNING key`;
    if (known.length === 0) return;
    // Projects unknown to the database were deployed without the control plane.
    await tx`
      INSERT INTO control.usage AS kept
        (hour, project_id, deployment_id, kind, route, invocations, failures, cpu_ms, host_cpu_ms, cpu_ms_max,
          cpu_counts, costliest)
      SELECT used.hour, project.id, used.deployment, used.kind, used.route,
        used.invocations, used.failures, used."cpuMs", used."hostCpuMs", used."cpuMsMax",
        coalesce(used."cpuCounts", '{}'), coalesce(used.costliest, '[]')
      FROM jsonb_to_recordset(${tx.json(rows as never)}) AS used
        (hour timestamptz, project text, deployment text, kind text, route text, invocations bigint, failures bigint,
          "cpuMs" double precision, "hostCpuMs" double precision, "cpuMsMax" double precision,
          "cpuCounts" bigint[], costliest jsonb)
      JOIN control.project ON project.name = used.project AND project.deleted_at IS NULL
      ON CONFLICT (project_id, hour, deployment_id, kind, route) DO UPDATE SET
        invocations = kept.invocations + excluded.invocations,
        failures = kept.failures + excluded.failures,
        cpu_ms = kept.cpu_ms + excluded.cpu_ms,
        host_cpu_ms = kept.host_cpu_ms + excluded.host_cpu_ms,
        cpu_ms_max = greatest(kept.cpu_ms_max, excluded.cpu_ms_max),
        cpu_counts = (
          SELECT coalesce(array_agg(coalesce(one, 0) + coalesce(other, 0) ORDER BY bucket), '{}')
          FROM unnest(kept.cpu_counts, excluded.cpu_counts) WITH ORDINALITY AS both_of(one, other, bucket)),
        costliest = (
          SELECT coalesce(jsonb_agg(one ORDER BY (one->>'cpuMs')::float DESC), '[]') FROM (
            SELECT one FROM jsonb_array_elements(kept.costliest || excluded.costliest) AS one
            ORDER BY (one->>'cpuMs')::float DESC LIMIT ${COSTLIEST_MAX}) AS worst)`;
  });
  return id;
}
