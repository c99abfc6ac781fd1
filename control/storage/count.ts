// Measures the storage of each project by kind: database rows by sums, files and databases through an engine, folders
// on disk. Called by follow.ts. If a part cannot be measured, its last values are kept.
import { join } from 'node:path';
import { bindings } from '#core/bindings/kinds.ts';
import type { KeptBytes } from '#core/storage-left.ts';
import { repositoriesFolder } from '#git/builtin-repositories.ts';
import type { Sql } from '#postgres/sql.ts';
import type { StorageKind } from '../records/storage.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { folderBytes } from './folders.ts';

/** Bytes of a kind by project. */
interface Counted {
  readonly kind: StorageKind;
  readonly isLocal: boolean;
  /** `name`: keyed by namespace; otherwise by project id. */
  readonly by: 'name' | 'id';
  readonly bytes: ReadonlyMap<string, number>;
}

type CountDeps = Pick<Dependencies, 'sql' | 'folder' | 'privatePort' | 'storage'>;

const ASK_MS = 10 * 60_000;
/** Size of a row without its texts. */
const ROW_BYTES = 100;

/**
 * Measures once and stores the result.
 *
 * @returns why parts could not be measured; their last values are kept.
 */
export async function countStorage(deps: CountDeps): Promise<readonly string[]> {
  const countedAt = new Date();
  const counted: Counted[] = [];
  const missed: string[] = [];
  // The parts are measured one after the other, because the count is not urgent.
  for (const count of [countEngine, countRows, countFolders])
    counted.push(
      ...(await count(deps).catch((error: unknown) => {
        missed.push((error as Error).message);
        return [];
      })),
    );
  const projects = await projectsByName(deps.sql);
  const ids = new Set(projects.values());
  const rows = counted.flatMap(({ kind, isLocal, by, bytes }) =>
    [...bytes].flatMap(([name, count]) => {
      const project = by === 'id' ? (ids.has(name) ? name : undefined) : projects.get(name);
      return project === undefined || count === 0 ? [] : [{ project, kind, bytes: count, isLocal }];
    }),
  );
  await deps.sql.begin(async (tx) => {
    await tx`DELETE FROM control.storage WHERE kind = ANY(${counted.map(({ kind }) => kind)})`;
    await tx`
      INSERT INTO control.storage (project_id, kind, bytes, is_local, counted_at)
      SELECT row.project, row.kind, row.bytes, row."isLocal", ${countedAt}
      FROM jsonb_to_recordset(${tx.json(rows)}) AS row (project text, kind text, bytes bigint, "isLocal" boolean)
      JOIN control.project ON project.id = row.project`;
  });
  return missed;
}

/** Time of the last count; null means never, or nothing was found. */
export async function lastCount(sql: Sql): Promise<Date | null> {
  const [row] = await sql<{ at: Date | null }[]>`SELECT max(counted_at) AS at FROM control.storage`;
  return row!.at;
}

/** Project ids by name. Data of a deleted project counts as its own until the name is used again. */
async function projectsByName(sql: Sql): Promise<ReadonlyMap<string, string>> {
  const rows = await sql<{ name: string; id: string }[]>`
    SELECT DISTINCT ON (name) name, id FROM control.project
    ORDER BY name, (deleted_at IS NULL) DESC, created_at DESC`;
  return new Map(rows.map(({ name, id }) => [name, id]));
}

async function countEngine({ privatePort }: CountDeps): Promise<Counted[]> {
  const { status, body } = await privatePort.ask<KeptBytes>('/_platform/storage', {}, ASK_MS);
  if (status === 503) throw new Error('no engine answers what files and databases keep');
  if (status !== 200) throw new Error(`the platform answered ${status}`);
  return (['files', 'databases'] as const).flatMap((kind): Counted[] => {
    const kept = body[kind];
    return kept === null
      ? []
      : [{ kind, isLocal: body.areLocal[kind], by: 'name', bytes: new Map(Object.entries(kept)) }];
  });
}

/** Size of table rows. Lengths of long values are computed without reading them. */
async function countRows({ sql, storage: { isPostgresLocal: isLocal } }: CountDeps): Promise<Counted[]> {
  const sums = async (kind: StorageKind, by: Counted['by'], rows: Promise<Sum[]>): Promise<Counted> => {
    const bytes = new Map((await rows).map((row) => [row.project, Number(row.bytes)]));
    return { kind, isLocal, by, bytes };
  };
  const counted: Counted[] = [];
  for (const { storage } of Object.values(bindings))
    if (storage !== null) counted.push(await sums(storage.kind, 'name', sql.unsafe<Sum[]>(storage.sql)));
  return [
    ...counted,
    await sums(
      'logs',
      'id',
      sql<Sum[]>`
        SELECT project_id AS project, sum(bytes) AS bytes FROM (
          SELECT project_id, bytes FROM control.telemetry_hour
          UNION ALL
          SELECT d.project_id, octet_length(l.text) + ${ROW_BYTES}::int
            FROM control.build_log l JOIN control.deployment d ON d.id = l.deployment_id
        ) AS kept GROUP BY 1`,
    ),
  ];
}

interface Sum {
  readonly project: string;
  readonly bytes: number | string;
}

/** Folders of the data folder: artifacts, including uploads in progress; repositories; build caches. */
async function countFolders({ sql, folder }: CountDeps): Promise<Counted[]> {
  const artifacts = await folderBytes(join(folder, 'artifacts'));
  const used = await sql<{ project: string; artifact: string }[]>`
    SELECT DISTINCT project_id AS project, artifact FROM control.deployment
    WHERE artifact IS NOT NULL AND removed_at IS NULL`;
  const uploads = await sql<{ project: string; bytes: number }[]>`
    SELECT project_id AS project, sum(received) AS bytes FROM control.upload
    WHERE deployment_id IS NULL AND expires_at > now() GROUP BY 1`;
  const byArtifact = [
    ...used.map(({ project, artifact }) => [project, artifacts.get(artifact) ?? 0] as const),
    ...uploads.map(({ project, bytes }) => [project, Number(bytes)] as const),
  ];
  const repositories = await folderBytes(repositoriesFolder(folder));
  // A disconnected repository still has the project's name.
  const owners = await sql<{ project: string; repository: string }[]>`
    SELECT DISTINCT ON (r.id) p.id AS project, r.id AS repository FROM control.repository r
    JOIN control.project p ON p.repository_id = r.id OR (p.organization_id = r.organization_id AND p.name = r.full_name)
    WHERE r.source = 'builtin'
    ORDER BY r.id, (p.repository_id IS NOT DISTINCT FROM r.id) DESC, (p.deleted_at IS NULL) DESC, p.created_at DESC`;
  const byRepository = owners.map(
    ({ project, repository }) => [project, repositories.get(`${repository}.git`) ?? 0] as const,
  );
  // Names are `<project>.<target>`; each project has two caches.
  const caches = [...(await folderBytes(join(folder, 'builds', 'caches')))].map(
    ([name, bytes]) => [name.split('.', 1)[0]!, bytes] as const,
  );
  const local = (kind: StorageKind, bytes: ReadonlyMap<string, number>): Counted => ({
    kind,
    isLocal: true,
    by: 'id',
    bytes,
  });
  return [
    local('artifacts', summed(byArtifact)),
    local('repositories', summed(byRepository)),
    local('caches', summed(caches)),
  ];
}

function summed(entries: readonly (readonly [project: string, bytes: number])[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [project, bytes] of entries) sums.set(project, (sums.get(project) ?? 0) + bytes);
  return sums;
}
