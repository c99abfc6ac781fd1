// Computes how much each organization can still store, by its plan and by the disk. Publishes the result for engines
// and database processes (core/storage-left.ts), and marks full organizations in their row, for the control plane and
// the builder. Called by follow.ts after each count, and when a plan or a project changes.
import { statfs } from 'node:fs/promises';
import type { OrganizationLeft } from '#core/storage-left.ts';
import type { StorageLimits } from '#core/limits.ts';
import type { Plan } from '#core/plans.ts';
import type { Dependencies } from '../process/dependencies.ts';

/** Storage usage of an organization. */
export interface Keeping {
  readonly id: string;
  readonly plan: Plan;
  readonly bytes: number;
  /** The part of `bytes` that is on the data folder's disk. */
  readonly localBytes: number;
  readonly projects: readonly string[];
}

/** The data folder's disk, in bytes. */
interface Disk {
  readonly size: number;
  readonly free: number;
}

/** Limits of the disk. */
interface DiskLimits {
  readonly limits: StorageLimits;
  readonly diskFreeBytesMin: number;
}

/** Storage limit of a plan in bytes, or null. */
export function storageLimitOf(limits: StorageLimits, plan: Plan): number | null {
  const byPlan: Readonly<Record<Plan, number>> = {
    free: limits.bytesMaxFree,
    pro: limits.bytesMaxPro,
    enterprise: limits.bytesMaxEnterprise,
  };
  return byPlan[plan] === 0 ? null : byPlan[plan];
}

/**
 * Remaining storage of organizations (docs/decisions/120-storage-by-organization.md). The last bytes of the disk above
 * the reserve are for organizations below the average, so that one organization cannot fill the disk while another
 * stores little.
 *
 * @returns the organizations that have a limit.
 */
export function organizationsLeft(all: readonly Keeping[], disk: Disk, settings: DiskLimits): OrganizationLeft[] {
  const { limits, diskFreeBytesMin } = settings;
  const average = all.reduce((sum, { localBytes }) => sum + localBytes, 0) / all.length;
  const shared = Math.min(limits.diskSharedBytes, Math.floor(disk.size / 10));
  const ofDisk = (keeping: Keeping): number =>
    all.length < 2 || shared === 0
      ? Infinity
      : Math.max(0, disk.free - diskFreeBytesMin - shared, Math.floor(average) - keeping.localBytes);
  return all.flatMap((keeping): OrganizationLeft[] => {
    const { id, plan, bytes, projects } = keeping;
    const limit = storageLimitOf(limits, plan);
    const byPlan = limit === null ? Infinity : Math.max(0, limit - bytes);
    const byDisk = ofDisk(keeping);
    if (byPlan === Infinity && byDisk === Infinity) return [];
    return byDisk < byPlan ? [{ id, limit: null, left: byDisk, projects }] : [{ id, limit, left: byPlan, projects }];
  });
}

/** Publishes the remaining storage. @param goodMs how long the value is valid without another count. */
export async function publishStorageLeft(
  deps: Pick<Dependencies, 'sql' | 'folder' | 'routes' | 'storage'>,
  goodMs: number,
): Promise<void> {
  const { sql, folder, routes, storage } = deps;
  const rows = await sql<(Omit<Keeping, 'localBytes'> & { local: number; countedAt: Date | null })[]>`
    SELECT o.id, o.plan, coalesce(kept.bytes, 0) AS bytes, coalesce(kept.local, 0) AS local, kept."countedAt",
      coalesce(names.projects, '{}') AS projects
    FROM control.organization o
    LEFT JOIN LATERAL (
      SELECT sum(s.bytes)::bigint AS bytes, (sum(s.bytes) FILTER (WHERE s.is_local))::bigint AS local,
        max(s.counted_at) AS "countedAt"
      FROM control.project p JOIN control.storage s ON s.project_id = p.id WHERE p.organization_id = o.id) kept ON true
    LEFT JOIN LATERAL (
      SELECT array_agg(p.name ORDER BY p.name) AS projects FROM control.project p
      WHERE p.organization_id = o.id AND p.deleted_at IS NULL) names ON true
    ORDER BY o.id`;
  const disk = await diskOf(folder);
  const left = organizationsLeft(
    rows.map(({ local, ...row }) => ({ ...row, localBytes: local })),
    disk,
    storage,
  );
  const counted = rows.reduce((last, { countedAt }) => Math.max(last, countedAt?.getTime() ?? 0), 0);
  await routes.leaveStorage({
    version: 1,
    countedAt: new Date(counted).toISOString(),
    until: new Date(Date.now() + goodMs).toISOString(),
    organizations: left,
  });
  const full = left.filter(({ left: bytes }) => bytes <= 0).map(({ id }) => id);
  await sql`
    UPDATE control.organization SET storage_full = id = ANY(${full}) WHERE storage_full <> (id = ANY(${full}))`;
}

/** The disk of a folder. If the disk cannot be read, it imposes no limit. */
async function diskOf(folder: string): Promise<Disk> {
  const { bavail, blocks, bsize } = await statfs(folder).catch(() => ({ bavail: Infinity, blocks: 0, bsize: 1 }));
  return { free: bavail * bsize, size: blocks * bsize };
}
