// Checks that disks have enough space before a backup or a restore writes any data. Folders on one disk share its free
// space. Called by backup/backup.ts and restore/restore.ts.
import { existsSync, statfsSync, statSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { ownSchemas } from '#postgres/dump.ts';
import type { Sql } from '#postgres/sql.ts';
import { backupError } from './archive/backup-error.ts';
import type { Part } from './archive/manifest.ts';
import type { Locations } from './locations.ts';

/** Free space to keep on each disk. */
const SPARE_BYTES = 64 * 1024 * 1024;
/** Rows take more space in tables, with indexes and the WAL, than in a backup. */
const TABLE_TIMES = 3;

/** Bytes to be written to a folder, which may not exist yet. */
interface Need {
  readonly folder: string;
  readonly bytes: number;
}

/** The disk of a folder: its device number and free bytes. */
type DiskOf = (folder: string) => { readonly disk: number; readonly free: number };

/**
 * Bytes that a backup writes. Most contents compress, but files and artifacts may be compressed already. Database
 * copies are staged in the data folder, one at a time.
 *
 * @param sql the open database, or null.
 * @param target folder of the archive; null means a bucket.
 */
export async function backupNeeds(
  { folder, databases, bucket }: Locations,
  sql: Sql | null,
  target: string | null,
): Promise<Need[]> {
  const trees = ['artifacts', 'repositories', 'routes', ...(bucket === null ? ['files'] : [])];
  const sizes = await Promise.all(trees.map((name) => sizesBelow(path.join(folder, name))));
  const copied = databases === null ? [] : await sizesBelow(databases);
  const all = [...sizes.flat(), ...copied, sql === null ? 0 : await tableBytes(sql)];
  const index = bucket === null ? await sizesBelow(path.join(folder, 'files', 'index.sqlite')) : [];
  return [
    { folder, bytes: Math.max(0, ...copied, ...index) },
    ...(target === null ? [] : [{ folder: target, bytes: sum(all) }]),
  ];
}

/** Bytes that a restore writes. */
export function restoreNeeds({ folder, postgres, databases, bucket }: Locations, parts: readonly Part[]): Need[] {
  const bytesOf = (...kinds: readonly Part['kind'][]): number =>
    sum(parts.filter(({ kind }) => kinds.includes(kind)).map(({ bytes }) => bytes));
  return [
    { folder, bytes: bytesOf('file', 'key') + (bucket === null ? bytesOf('index', 'content') : bytesOf('index')) },
    { folder, bytes: postgres === 'embedded' ? bytesOf('table') * TABLE_TIMES : 0 },
    { folder: databases ?? folder, bytes: bytesOf('database') },
  ];
}

/** @throws {Failure} `backup`: `space`, naming the first disk that is too small. */
export function checkSpace(needs: readonly Need[], diskOf: DiskOf = diskOfFolder): void {
  const disks = new Map<number, { folder: string; free: number; needed: number }>();
  for (const { folder, bytes } of needs) {
    const { disk, free } = diskOf(folder);
    const { needed = SPARE_BYTES } = disks.get(disk) ?? {};
    disks.set(disk, { folder, free, needed: needed + bytes });
  }
  for (const { folder, free, needed } of disks.values())
    if (free < needed)
      throw backupError(
        'space',
        `It may take ${needed} bytes, and the disk of ${folder} has ${free} bytes free`,
        'Nothing was written. Free disk space, or choose a folder on another disk.',
      );
}

/** Size of the platform's tables and indexes: more than they take in an archive. */
async function tableBytes(sql: Sql): Promise<number> {
  const [found] = await sql<{ bytes: number }[]>`
    SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 AS bytes
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY (${ownSchemas()}) AND c.relkind IN ('r', 'm') AND c.relpersistence = 'p'`;
  return found!.bytes;
}

function diskOfFolder(folder: string): { disk: number; free: number } {
  const at = existing(folder);
  const { bavail, bsize } = statfsSync(at);
  return { disk: statSync(at).dev, free: bavail * bsize };
}

function existing(folder: string): string {
  return existsSync(folder) ? folder : existing(path.dirname(folder));
}

/** Total size of a file or of all files in a folder; 0 if it does not exist. */
async function sizesBelow(at: string): Promise<number[]> {
  const found = await stat(at).catch(() => null);
  if (found === null) return [];
  if (found.isFile()) return [found.size];
  const sizes: number[] = [];
  for (const entry of await readdir(at, { withFileTypes: true }).catch(() => []))
    if (entry.isDirectory() || entry.isFile()) sizes.push(...(await sizesBelow(path.join(at, entry.name))));
  return sizes;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, bytes) => total + bytes, 0);
}
