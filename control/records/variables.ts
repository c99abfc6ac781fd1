// Variables of projects. All values are encrypted in the database, including plaintext ones. Secret values are only
// passed to builds and engines.
import { isCurrent, seal, unseal, type EncryptionKeys } from '#core/encryption.ts';
import { variableContext } from '#core/variable-context.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { newId } from './ids.ts';

export const variableScopes = ['production', 'preview', 'branch', 'dev'] as const;
type VariableScope = (typeof variableScopes)[number];
type VariableKind = 'plaintext' | 'secret';

/** A row of control.variable. */
export interface VariableRow {
  readonly id: string;
  readonly project_id: string;
  readonly key: string;
  readonly scope: VariableScope;
  /** Name of the branch; '' unless the scope is `branch`. */
  readonly branch: string;
  readonly kind: VariableKind;
  readonly value: Buffer;
  readonly created_by: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** A variable to set. */
export interface VariableInput {
  readonly key: string;
  readonly value: string;
  readonly scope: VariableScope;
  readonly branch: string;
  readonly kind: VariableKind;
}

const contextOf = (row: Pick<VariableRow, 'project_id' | 'scope' | 'branch' | 'key'>): string =>
  variableContext({ projectId: row.project_id, scope: row.scope, branch: row.branch, key: row.key });

/** The API's view of a variable: secrets without their value. */
export const toVariable = (keys: EncryptionKeys, row: VariableRow) => ({
  id: row.id,
  key: row.key,
  scope: row.scope,
  branch: row.scope === 'branch' ? row.branch : null,
  kind: row.kind,
  value: row.kind === 'secret' ? null : unseal(keys, row.value, contextOf(row)),
  createdBy: row.created_by,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
});

export async function listVariables(sql: Sql | Transaction, projectId: string): Promise<VariableRow[]> {
  return sql<VariableRow[]>`
    SELECT * FROM control.variable WHERE project_id = ${projectId} ORDER BY key, scope, branch LIMIT 10000`;
}

/** A variable of a project, locked until the transaction ends. */
export async function holdVariable(tx: Transaction, projectId: string, id: string): Promise<VariableRow | null> {
  const [row] = await tx<VariableRow[]>`
    SELECT * FROM control.variable WHERE project_id = ${projectId} AND id = ${id} FOR UPDATE`;
  return row ?? null;
}

/** Number of variables in a scope of a project (for scope `branch`, of that branch). */
export async function countVariables(
  tx: Transaction,
  projectId: string,
  { scope, branch }: Pick<VariableInput, 'scope' | 'branch'>,
): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    SELECT count(*)::int FROM control.variable
    WHERE project_id = ${projectId} AND scope = ${scope} AND branch = ${branch}`;
  return row!.count;
}

/**
 * Sets a variable.
 *
 * @param onConflict what to do if the variable exists: `keep` returns null.
 */
export async function setVariable(
  tx: Transaction,
  keys: EncryptionKeys,
  projectId: string,
  input: VariableInput,
  createdBy: string,
  onConflict: 'keep' | 'replace',
): Promise<VariableRow | null> {
  const { key, scope, branch, kind } = input;
  const value = seal(keys, input.value, variableContext({ projectId, scope, branch, key }));
  const replacing =
    onConflict === 'keep'
      ? tx`DO NOTHING`
      : tx`DO UPDATE SET kind = excluded.kind, value = excluded.value, updated_at = now()`;
  const [row] = await tx<VariableRow[]>`
    INSERT INTO control.variable (id, project_id, key, scope, branch, kind, value, created_by)
    VALUES (${newId('variable')}, ${projectId}, ${key}, ${scope}, ${branch}, ${kind}, ${value}, ${createdBy})
    ON CONFLICT (project_id, scope, branch, key) ${replacing} RETURNING *`;
  return row ?? null;
}

/** Changes value or kind. */
export async function changeVariable(
  tx: Transaction,
  keys: EncryptionKeys,
  row: VariableRow,
  change: { readonly value?: string | undefined; readonly kind?: VariableKind | undefined },
): Promise<VariableRow> {
  const value = change.value === undefined ? row.value : seal(keys, change.value, contextOf(row));
  const [changed] = await tx<VariableRow[]>`
    UPDATE control.variable SET value = ${value}, kind = ${change.kind ?? row.kind}, updated_at = now()
    WHERE id = ${row.id} RETURNING *`;
  return changed!;
}

export async function deleteVariable(tx: Transaction, id: string): Promise<void> {
  await tx`DELETE FROM control.variable WHERE id = ${id}`;
}

/**
 * Re-encrypts variables with the current key, one transaction per batch.
 *
 * @returns the number of re-encrypted values, and the number of values that no listed key can decrypt.
 */
export async function resealVariables(
  sql: Sql,
  keys: EncryptionKeys,
): Promise<{ resealed: number; unreadable: number }> {
  const counts = { resealed: 0, unreadable: 0 };
  for (let last = ''; ;) {
    const rows = await sql.begin(async (tx) => {
      const batch = await tx<VariableRow[]>`
        SELECT * FROM control.variable WHERE id > ${last} ORDER BY id LIMIT 500 FOR UPDATE`;
      for (const row of batch) {
        if (isCurrent(keys, row.value)) continue;
        try {
          const context = contextOf(row);
          const value = seal(keys, unseal(keys, row.value, context), context);
          await tx`UPDATE control.variable SET value = ${value} WHERE id = ${row.id}`;
          counts.resealed++;
        } catch {
          counts.unreadable++;
        }
      }
      return batch;
    });
    if (rows.length === 0) return counts;
    last = rows.at(-1)!.id;
  }
}
