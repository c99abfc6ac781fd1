// Decides which machine upgrades next: one machine of the installation at a time, by a lock in Postgres. A row in
// Postgres shows other machines how the last upgrade ended. Called by rolling.ts.
import { setTimeout as pause } from 'node:timers/promises';
import type { Session, Statements } from '#postgres/connection.ts';
import { backupError } from '../archive/backup-error.ts';

/** The current state of a machine. */
export interface UpgradedMachine {
  readonly name: string;
  /** A different value for each start of the platform on this machine. */
  readonly member: string;
  readonly status: 'up' | 'draining' | 'drained' | 'lost';
  readonly version: string;
  readonly upstream: string | null;
  readonly private_origin: string | null;
  readonly parts: readonly string[];
}

type Step = 'draining' | 'restarting' | 'done' | 'failed';

interface Turn {
  readonly machine: string;
  readonly from_version: string;
  readonly to_version: string;
  readonly step: Step;
  readonly reason: string | null;
}

/** An arbitrary number that no other lock uses. */
const LOCK_KEY = 7_528_341_900;
const LOOK_MS = 1000;

/** All machines, by name. */
export function readMachines(sql: Statements): Promise<UpgradedMachine[]> {
  return sql.all<UpgradedMachine>(
    'SELECT name, member, status, version, upstream, private_origin, parts FROM control.machine_now ORDER BY name',
  );
}

/** Whether a machine takes requests of visitors. */
export function isServing({ status, upstream, parts }: UpgradedMachine): boolean {
  return status === 'up' && upstream !== null && parts.includes('handler');
}

/**
 * Waits until no other machine is upgraded. The lock is held as long as the session.
 *
 * @returns `isOwnOpen`: whether an earlier upgrade of this machine is unfinished.
 * @param skip a machine whose failed upgrade does not count, or null.
 * @throws {Failure} `backup` if the previously upgraded machine did not come back.
 */
export async function takeTurn(
  session: Session,
  own: string,
  skip: string | null,
  say: (line: string) => void,
): Promise<{ readonly isOwnOpen: boolean }> {
  let isSaid = false;
  for (;;) {
    const [row] = await session.all<{ taken: boolean }>('SELECT pg_try_advisory_lock($1::bigint) AS taken', LOCK_KEY);
    if (row!.taken) break;
    if (!isSaid) say(`Waiting: ${(await readTurn(session))?.machine ?? 'another machine'} is being upgraded`);
    isSaid = true;
    await pause(LOOK_MS);
  }
  const turn = await readTurn(session);
  if (turn === null || turn.step === 'done' || turn.machine === skip) return { isOwnOpen: false };
  if (turn.machine === own) return { isOwnOpen: true };
  const machine = (await readMachines(session)).find(({ name }) => name === turn.machine);
  // The machine was repaired in the meantime.
  if (machine?.status === 'up' && machine.version === turn.to_version) return { isOwnOpen: false };
  const what =
    turn.step === 'failed'
      ? `${turn.machine} did not come back with version ${turn.to_version}: ${turn.reason}`
      : `The upgrade of ${turn.machine} to version ${turn.to_version} was interrupted while it was ${turn.step === 'draining' ? 'drained' : 'restarted'}`;
  throw backupError(
    'unfinished',
    what,
    `Repair it, and run \`platform upgrade --rolling\` on ${turn.machine} again. If it is gone for good, add \`--skip ${turn.machine}\` here.`,
  );
}

async function readTurn(sql: Statements): Promise<Turn | null> {
  const [turn] = await sql.all<Turn>(
    'SELECT machine, from_version, to_version, step, reason FROM control.rolling_upgrade',
  );
  return turn ?? null;
}

/** Reports the progress of this machine's upgrade to the others. */
export async function noteStep(
  sql: Statements,
  turn: Omit<Turn, 'reason'> & { readonly reason?: string },
): Promise<void> {
  await sql.all(
    `INSERT INTO control.rolling_upgrade (machine, from_version, to_version, step, reason)
      VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (is_only) DO UPDATE SET (machine, from_version, to_version, step, reason, changed_at) =
        (SELECT excluded.machine, excluded.from_version, excluded.to_version, excluded.step, excluded.reason, now())`,
    turn.machine,
    turn.from_version,
    turn.to_version,
    turn.step,
    turn.reason ?? null,
  );
  if (turn.step !== 'done' && turn.step !== 'failed') return;
  await sql.all(
    `INSERT INTO control.audit_event (actor_kind, action, subject_kind, subject_id, details)
      VALUES ('system', 'machine.upgrade', 'machine', $1, $2::text::jsonb)`,
    turn.machine,
    JSON.stringify({ from: turn.from_version, to: turn.to_version, result: turn.step }),
  );
}

/** Like `platform machines drain`: edges send the machine no new requests, and running requests finish. */
export async function drainMachine(sql: Statements, name: string): Promise<void> {
  await sql.all(
    `UPDATE control.machine SET state = 'draining', state_at = clock_timestamp() WHERE name = $1 AND state = 'up'`,
    name,
  );
}

/** Whether all edges know the address of the machine since its start. */
export async function isKnownToEdges(sql: Statements, name: string): Promise<boolean> {
  const [late] = await sql.all(
    `SELECT FROM control.machine_now AS edge, control.machine AS own
      WHERE own.name = $1 AND edge.status <> 'lost' AND 'edge' = ANY(edge.parts)
        AND (edge.edge_read_at IS NULL OR edge.edge_read_at < own.announced_at) LIMIT 1`,
    name,
  );
  return late === undefined;
}
