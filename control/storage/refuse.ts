// Refuses operations that add data to a full organization: uploads, pushes, sandboxes. Called before any work is done.
import { statfs } from 'node:fs/promises';
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { Plan } from '#core/plans.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { storageLimitOf } from './left.ts';

/** @throws {ApiError} `storage_full` if the organization has reached its storage limit. */
export async function refuseFull(
  { storage }: Pick<Dependencies, 'storage'>,
  sql: Sql | Transaction,
  organizationId: string,
): Promise<void> {
  const [full] = await sql<{ plan: Plan; bytes: number }[]>`
    SELECT o.plan, coalesce((
      SELECT sum(s.bytes) FROM control.project p JOIN control.storage s ON s.project_id = p.id
      WHERE p.organization_id = o.id), 0)::bigint AS bytes
    FROM control.organization o WHERE o.id = ${organizationId} AND o.storage_full`;
  if (full === undefined) return;
  const limit = storageLimitOf(storage.limits, full.plan);
  const why =
    limit !== null && full.bytes >= limit
      ? `and its plan ${full.plan} allows ${limit}`
      : "which is its share of the platform's disk";
  throw new ApiError('storage_full', { kept: full.bytes, why });
}

/** @throws {ApiError} `unavailable` if the data folder's disk has no more than its reserve. */
export async function refuseOnFullDisk({ folder, storage }: Pick<Dependencies, 'folder' | 'storage'>): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < storage.diskFreeBytesMin)
    throw new ApiError('unavailable', { reason: 'The disk of the platform is nearly full: try again later' });
}
