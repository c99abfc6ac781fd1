// Machines of the installation, as they announce themselves (postgres/machine.ts). Operators drain and remove machines
// here.
import type { Sql, Transaction } from '#postgres/sql.ts';

/** `lost`: the lease of the machine has expired, and the machine did not report that it stops. */
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

/**
 * Drains a machine: edges send it no new requests, it finishes the running ones, and moves its project databases to
 * other machines.
 */
export async function drainMachine(tx: Transaction, name: string): Promise<void> {
  await tx`UPDATE binding.database_service SET is_draining = true WHERE machine = ${name}`;
  await tx`UPDATE control.machine SET state = 'draining', state_at = clock_timestamp() WHERE name = ${name} AND state = 'up'`;
}

/**
 * Removes a machine. Other machines may take over the project databases of the removed machine, even if it was the only
 * machine with databases.
 */
export async function removeMachine(tx: Transaction, name: string): Promise<void> {
  await tx`UPDATE binding.database_service SET is_removed = true WHERE machine = ${name}`;
  await tx`DELETE FROM control.machine WHERE name = ${name}`;
}

/**
 * Finds machines that were lost for `lostSeconds` and are not reported yet, or that are back after a report, and
 * records this. Drained machines are expected to stop, so they are not reported.
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
 * Finds machines whose routes were older than `ageSeconds` for `forSeconds` and are not reported yet, or whose routes
 * are current again after a report, and records this. Lost machines are ignored, because the age of their routes is not
 * known.
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
