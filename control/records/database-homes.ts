// The machine that has the databases of a project, and moves that an operator requests. The services themselves write
// the rest of these tables (runtime/databases/homes/).
import type { Sql, Transaction } from '#postgres/sql.ts';

/** The home of a project. */
export interface DatabaseHomeRow {
  readonly project: string;
  readonly machine: string;
  readonly state: 'serving' | 'restoring';
  /** Machine to which the databases are moving. */
  readonly move_to: string | null;
  /** Why the last move did not happen. */
  readonly move_problem: string | null;
}

/** @returns undefined if the project has no databases, or there is one database service, which needs no homes. */
export async function readDatabaseHome(sql: Sql | Transaction, project: string): Promise<DatabaseHomeRow | undefined> {
  const [row] = await sql<DatabaseHomeRow[]>`
    SELECT h.project, s.machine, h.state, h.move_to, h.move_problem
    FROM binding.database_home h JOIN binding.database_service s ON s.id = h.service WHERE h.project = ${project}`;
  return row;
}

/** Machines that take databases. */
export async function databaseMachines(sql: Sql | Transaction): Promise<string[]> {
  const rows = await sql<{ machine: string }[]>`
    SELECT DISTINCT machine FROM binding.database_service
    WHERE NOT is_draining AND NOT is_removed AND seen_at > clock_timestamp() - interval '1 minute' ORDER BY machine`;
  return rows.map(({ machine }) => machine);
}

export async function askForMove(tx: Transaction, project: string, machine: string): Promise<void> {
  await tx`UPDATE binding.database_home SET move_to = ${machine}, move_problem = NULL WHERE project = ${project}`;
}
