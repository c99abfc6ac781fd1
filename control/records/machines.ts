// Machines of the installation, as they announce themselves (postgres/machine.ts). Only operators write this value.
import type { Sql, Transaction } from '#postgres/sql.ts';

/** `lost`: its lease has ended without a goodbye. */
type MachineStatus = 'up' | 'draining' | 'drained' | 'lost';

/** A machine. */
export interface MachineRow {
  readonly name: string;
  readonly status: MachineStatus;
  readonly private_origin: string | null;
  readonly upstream: string | null;
  readonly parts: readonly string[];
  readonly version: string;
  readonly memory_bytes: number;
  readonly memory_free_bytes: number;
  readonly disk_bytes: number;
  readonly disk_free_bytes: number;
  readonly announced_at: Date;
  readonly seen_at: Date;
}

/** All, by name. */
export function readMachines(sql: Sql | Transaction): Promise<MachineRow[]> {
  return sql<MachineRow[]>`
    SELECT name, private_origin, upstream, parts, version, memory_bytes, memory_free_bytes, disk_bytes, disk_free_bytes,
      announced_at, seen_at,
      CASE WHEN status = 'drained' AND EXISTS (
        SELECT FROM binding.database_home h JOIN binding.database_service s ON s.id = h.service
        WHERE s.machine = machine_now.name AND s.is_draining) THEN 'draining' ELSE status END AS status
    FROM control.machine_now ORDER BY name`;
}

/** Locks and returns all machines, because the allowed actions for one depend on the others. */
export async function lockMachines(tx: Transaction): Promise<MachineRow[]> {
  await tx`SELECT FROM control.machine ORDER BY name FOR UPDATE`;
  return readMachines(tx);
}

/** The machine finishes its requests when edges no longer send any, and moves its project databases to others. */
export async function drainMachine(tx: Transaction, name: string): Promise<void> {
  await tx`UPDATE binding.database_service SET is_draining = true WHERE machine = ${name}`;
  await tx`UPDATE control.machine SET state = 'draining', state_at = clock_timestamp() WHERE name = ${name} AND state = 'up'`;
}

/** Other machines may take over its project databases, even if it was the only machine before. */
export async function removeMachine(tx: Transaction, name: string): Promise<void> {
  await tx`UPDATE binding.database_service SET is_removed = true WHERE machine = ${name}`;
  await tx`DELETE FROM control.machine WHERE name = ${name}`;
}

/**
 * Finds and marks machines that have been lost for this time without a report, or are back after a report. A drained
 * machine is expected to stop.
 */
export async function takeChanges(
  tx: Transaction,
  lostSeconds: number,
): Promise<{ readonly lost: readonly { name: string; seen_at: Date }[]; readonly back: readonly string[] }> {
  const lost = await tx<{ name: string; seen_at: Date }[]>`
    UPDATE control.machine SET lost_at = now()
    WHERE lost_at IS NULL AND state <> 'drained' AND seen_at < clock_timestamp() - ${lostSeconds} * interval '1 second'
    RETURNING name, seen_at`;
  const back = await tx<{ name: string }[]>`
    UPDATE control.machine SET lost_at = NULL
    WHERE lost_at IS NOT NULL AND name IN (SELECT name FROM control.machine_now WHERE status <> 'lost') RETURNING name`;
  return { lost, back: back.map(({ name }) => name) };
}

/**
 * Finds and marks machines whose routes have been older than `ageSeconds` for `forSeconds` without a report, or are
 * current again after a report. The age of lost machines is not known.
 */
export async function takeOldRoutes(
  tx: Transaction,
  { ageSeconds, forSeconds }: { readonly ageSeconds: number; readonly forSeconds: number },
): Promise<{ readonly old: readonly { name: string; routes_age_seconds: number }[]; readonly current: string[] }> {
  await tx`
    UPDATE control.machine SET routes_old_at = CASE WHEN routes_age_seconds > ${ageSeconds} THEN clock_timestamp() END
    WHERE (routes_old_at IS NULL) = (coalesce(routes_age_seconds, 0) > ${ageSeconds})`;
  const old = await tx<{ name: string; routes_age_seconds: number }[]>`
    UPDATE control.machine SET routes_old_told = true
    WHERE NOT routes_old_told AND routes_old_at < clock_timestamp() - ${forSeconds} * interval '1 second'
      AND name IN (SELECT name FROM control.machine_now WHERE status <> 'lost')
    RETURNING name, routes_age_seconds`;
  const current = await tx<{ name: string }[]>`
    UPDATE control.machine SET routes_old_told = false WHERE routes_old_told AND routes_old_at IS NULL RETURNING name`;
  return { old, current: current.map(({ name }) => name) };
}
