// Storage usage of organizations, as last counted by control/storage/.
import { countedKinds } from '#core/bindings/kinds.ts';
import type { Plan } from '#core/plans.ts';
import type { Sql } from '#postgres/sql.ts';

/** Kinds of stored data; `logs`: lines, invocations, traces and build logs. */
export const storageKinds = [
  'files',
  'databases',
  ...countedKinds,
  'logs',
  'artifacts',
  'repositories',
  'caches',
] as const;
export type StorageKind = (typeof storageKinds)[number];

/** Bytes of one kind. */
interface KindBytes {
  readonly kind: StorageKind;
  readonly bytes: number;
}

/** Storage usage of an organization. */
interface KeptStorage {
  readonly plan: Plan;
  readonly isFull: boolean;
  /** Null if not counted yet. */
  readonly countedAt: Date | null;
  readonly bytes: number;
  /** The largest first. */
  readonly kinds: readonly KindBytes[];
  /** The largest first, at most {@link PROJECTS_MAX}. */
  readonly projects: readonly {
    readonly projectId: string;
    readonly name: string;
    readonly isDeleted: boolean;
    /** When the data of a deleted project is removed; in the past while the removal is running. Null: not scheduled. */
    readonly dataDueAt: Date | null;
    readonly bytes: number;
    readonly kinds: readonly KindBytes[];
  }[];
}

const PROJECTS_MAX = 100;

/** @param organizationId the id of an existing organization. */
export async function readStorage(sql: Sql, organizationId: string): Promise<KeptStorage> {
  const [organization] = await sql<{ plan: Plan; full: boolean; countedAt: Date | null }[]>`
    SELECT plan, storage_full AS full, (
      SELECT max(counted_at) FROM control.storage s JOIN control.project p ON p.id = s.project_id
      WHERE p.organization_id = o.id) AS "countedAt"
    FROM control.organization o WHERE id = ${organizationId}`;
  const kinds = await sql<KindBytes[]>`
    SELECT s.kind, sum(s.bytes)::bigint AS bytes FROM control.storage s JOIN control.project p ON p.id = s.project_id
    WHERE p.organization_id = ${organizationId} GROUP BY s.kind ORDER BY 2 DESC, s.kind`;
  const projects = await sql<KeptStorage['projects'][number][]>`
    SELECT p.id AS "projectId", p.name, p.deleted_at IS NOT NULL AS "isDeleted",
      CASE WHEN p.data_removal IS NULL THEN p.data_due_at END AS "dataDueAt", sum(s.bytes)::bigint AS bytes,
      jsonb_agg(jsonb_build_object('kind', s.kind, 'bytes', s.bytes) ORDER BY s.bytes DESC, s.kind) AS kinds
    FROM control.storage s JOIN control.project p ON p.id = s.project_id
    WHERE p.organization_id = ${organizationId} GROUP BY p.id ORDER BY 4 DESC, p.name LIMIT ${PROJECTS_MAX}`;
  return {
    plan: organization!.plan,
    isFull: organization!.full,
    countedAt: organization!.countedAt,
    bytes: kinds.reduce((sum, { bytes }) => sum + bytes, 0),
    kinds,
    projects,
  };
}
