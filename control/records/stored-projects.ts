// Data of deleted projects: kept for a while, then removed by releases/project-removal.ts. The data is stored under the
// name of its project, which stays with the organization.
import type { Transaction } from '#postgres/sql.ts';

/** Days between the deletion of a project and the removal of its data. */
export const DATA_DAYS = 30;

/** State of a deleted project's data. */
type DataState = 'kept' | 'removing' | 'removed';

/** The newest project of a name. */
interface StoredProject {
  readonly id: string;
  readonly isDeleted: boolean;
  readonly state: DataState;
}

/** Serializes code that creates or deletes data under the name of a project, until the transaction ends. */
export async function lockProjectName(tx: Transaction, name: string): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`project:${name}`}, 0))`;
}

/** The newest project of a name in an organization, or null. */
export async function findStoredProject(
  tx: Transaction,
  organizationId: string,
  name: string,
): Promise<StoredProject | null> {
  const [row] = await tx<(StoredProject & { readonly state: DataState })[]>`
    SELECT id, deleted_at IS NOT NULL AS "isDeleted", CASE WHEN data_removal IS NOT NULL THEN 'removed'
      WHEN data_due_at <= now() THEN 'removing' ELSE 'kept' END AS state
    FROM control.project WHERE organization_id = ${organizationId} AND name = ${name}
    ORDER BY (deleted_at IS NULL) DESC, created_at DESC LIMIT 1`;
  return row ?? null;
}

/**
 * Hands the data of deleted projects to the new project of the same name. Call this function under {@link
 * lockProjectName}.
 *
 * @returns false if the data is being removed.
 */
export async function takeDataOver(tx: Transaction, name: string): Promise<boolean> {
  const [busy] = await tx`
    SELECT FROM control.project WHERE name = ${name} AND data_due_at <= clock_timestamp() AND data_removal IS NULL`;
  if (busy !== undefined) return false;
  await tx`UPDATE control.project SET data_due_at = NULL WHERE name = ${name} AND data_removal IS NULL`;
  return true;
}
