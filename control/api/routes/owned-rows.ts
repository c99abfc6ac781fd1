// Rows that a project, an organization or the operator owns, up to a limit: list, create, change, delete, each with its
// audit entry in the same transaction. Used by the routes of subscriptions, alert rules and deploy hooks, which check
// access.
import type { ControlLimits } from '#core/limits.ts';
import type { Fragment, Sql, Transaction } from '#postgres/sql.ts';
import { ApiError } from '../../http/errors.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { AuditEvent } from '../../records/audit.ts';
import type { OwnedTable, Owner } from '../../records/owned-table.ts';
import type { RequestState } from '../request/middleware.ts';

/** The parts of a request that these functions use. */
export interface RequestScope {
  readonly env: Dependencies;
  readonly state: RequestState;
}

type Details = AuditEvent['details'];
/** Values by column. */
type Columns = Readonly<Record<string, unknown>>;

function ofOwner(sql: Sql | Transaction, table: OwnedTable, owner: Owner): Fragment {
  const id = ownerId(table, owner);
  return id === null ? sql`${sql(table.owner)} IS NULL` : sql`${sql(table.owner)} = ${id}`;
}

const ownerId = ({ owner: column }: OwnedTable, { organizationId, projectId }: Owner): string | null =>
  column === 'project_id' ? projectId : organizationId;

/** The audit entry of an action, for `state.audit`. */
export function entryOf(
  { subject }: OwnedTable,
  owner: Owner,
  id: string,
  verb: string,
  details?: Details,
): AuditEvent {
  const { organizationId, projectId } = owner;
  const entry = { organizationId, projectId, action: `${subject}.${verb}`, subjectKind: subject, subjectId: id };
  return details === undefined ? entry : { ...entry, details };
}

/** All rows of an owner, the oldest first. */
export async function listOwned<Row extends object>(
  sql: Sql,
  table: OwnedTable,
  owner: Owner,
): Promise<readonly Row[]> {
  return sql<Row[]>`
    SELECT * FROM ${sql(table.table)} WHERE ${ofOwner(sql, table, owner)} ORDER BY created_at, ${sql(table.id)}`;
}

/**
 * Locks a row until the end of the transaction.
 *
 * @throws {ApiError} `not_found`, also if the row belongs to another owner.
 */
export async function lockOwned<Row extends object>(
  tx: Transaction,
  table: OwnedTable,
  owner: Owner,
  id: string,
): Promise<Row> {
  const [row] = await tx<Row[]>`
    SELECT * FROM ${tx(table.table)} WHERE ${tx(table.id)} = ${id} AND ${ofOwner(tx, table, owner)} FOR UPDATE`;
  if (row === undefined) throw new ApiError('not_found');
  return row;
}

/**
 * Creates a row.
 *
 * @param first further checks and writes, which run before the row is created.
 * @throws {ApiError} `limit_reached`.
 */
export async function createOwned<Row extends object>(
  { env, state }: RequestScope,
  table: OwnedTable,
  owner: Owner,
  given: { readonly id: string; readonly columns: Columns; readonly details: Details },
  first: (tx: Transaction) => Promise<unknown> = () => Promise.resolve(),
): Promise<Row> {
  const { id, columns, details } = given;
  return env.sql.begin(async (tx) => {
    await checkLimit(tx, table, owner, env.limits);
    await first(tx);
    const values = { [table.id]: id, [table.owner]: ownerId(table, owner), ...columns };
    const [row] = await tx<Row[]>`INSERT INTO ${tx(table.table)} ${tx(values)} RETURNING *`;
    await state.audit(tx, entryOf(table, owner, id, 'create', details));
    return row!;
  }) as Promise<Row>;
}

async function checkLimit(tx: Transaction, table: OwnedTable, owner: Owner, limits: ControlLimits): Promise<void> {
  if (table.limit === null) return;
  const { what, of } = table.limit;
  // Creations are serialized, so that the limit is not exceeded.
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`${table.table}:${ownerId(table, owner) ?? ''}`}, 0))`;
  const [row] = await tx<{ count: number }[]>`
    SELECT count(*)::int AS count FROM ${tx(table.table)} WHERE ${ofOwner(tx, table, owner)}`;
  const allowed = limits[of];
  if (row!.count >= allowed) throw new ApiError('limit_reached', { what, allowed });
}

/**
 * Changes a row.
 *
 * @param change returns the new values (undefined: unchanged) and the details of the audit entry; it may write more in
 *   the transaction.
 * @throws {ApiError} `not_found`.
 */
export async function changeOwned<Row extends object>(
  { env, state }: RequestScope,
  table: OwnedTable,
  owner: Owner,
  id: string,
  change: (tx: Transaction, before: Row) => Promise<{ readonly columns: Columns; readonly details: Details }>,
): Promise<Row> {
  return env.sql.begin(async (tx) => {
    const before = await lockOwned<Row>(tx, table, owner, id);
    const { columns, details } = await change(tx, before);
    const changed = Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
    const rows =
      Object.keys(changed).length === 0
        ? [before]
        : await tx<Row[]>`
            UPDATE ${tx(table.table)} SET ${tx(changed)} WHERE ${tx(table.id)} = ${id} RETURNING *`;
    await state.audit(tx, entryOf(table, owner, id, 'update', details));
    return rows[0]!;
  }) as Promise<Row>;
}

/**
 * Deletes a row.
 *
 * @param also further writes of the transaction. @throws {ApiError} `not_found`.
 */
export async function deleteOwned(
  { env, state }: RequestScope,
  table: OwnedTable,
  owner: Owner,
  id: string,
  also: (tx: Transaction) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  await env.sql.begin(async (tx) => {
    const { count } = await tx`
      DELETE FROM ${tx(table.table)} WHERE ${tx(table.id)} = ${id} AND ${ofOwner(tx, table, owner)}`;
    if (count === 0) throw new ApiError('not_found');
    await also(tx);
    await state.audit(tx, entryOf(table, owner, id, 'delete'));
  });
}
