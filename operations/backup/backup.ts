// Backs up a platform, running or stopped: one snapshot of Postgres, a consistent copy of each database, then the files
// that their rows reference. The backup blocks no writers. Called by `platform backup`, by schedules (main.ts) and by
// an upgrade.
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isFailure } from '#core/failure.ts';
import { dumpTables, type Dump } from '#postgres/dump.ts';
import { backupTo } from '#runtime/databases/sqlite/copies.ts';
import { isDatabaseName } from '#runtime/databases/protocol/database-name.ts';
import { backupError } from '../archive/backup-error.ts';
import type { Manifest, Part } from '../archive/manifest.ts';
import { KEY_FILES } from '../archive/manifest.ts';
import { BackupWriter, type BackupProgress, type PartName } from '../archive/writer.ts';
import { encryptionKeyIds, openDatabase, type OpenDatabase, type Locations } from '../locations.ts';
import { backupNeeds, checkSpace } from '../space.ts';
import { addBucketFiles, addFiles } from './files.ts';
import { addTree } from './tree.ts';
import { folderOf, openTarget, type Target } from './target.ts';

/** Sources and target of a backup. */
interface BackupOptions {
  readonly locations: Locations;
  readonly target: Target;
  /** Null: not encrypted. */
  readonly passphrase: string | null;
  /** Whether to include the secrets of the data folder. */
  readonly withKeys: boolean;
  /** Whether to include project files that are stored in a bucket. */
  readonly withBucket: boolean;
  readonly version: string;
  readonly now?: Date;
  readonly onProgress?: (progress: BackupProgress) => void;
}

/** A completed backup. */
export interface BackupReport {
  readonly location: string;
  readonly createdAt: string;
  /** Size of the source data. */
  readonly bytes: number;
  /** Size of the written data: less if the target already had some contents. */
  readonly writtenBytes: number;
  readonly tables: number;
  readonly rows: number;
  readonly databases: number;
  readonly files: number;
  readonly artifacts: number;
  readonly isEncrypted: boolean;
  /** Migrations of the backed-up tables; null if the backup has no tables. */
  readonly schema: number | null;
  readonly hasKeys: boolean;
  /** Descriptions of data that the backup does not include. */
  readonly leftOut: readonly string[];
}

/** @throws {Failure} `backup` with how to fix it; then no partial backup is left. */
export async function makeBackup(options: BackupOptions): Promise<BackupReport> {
  const { locations } = options;
  try {
    const database = await openDatabase(locations, false);
    try {
      checkSpace(await backupNeeds(locations, database?.sql ?? null, folderOf(options.target)));
      return await write(options, database);
    } finally {
      await database?.close();
    }
  } catch (error) {
    throw explained(error, locations.folder);
  }
}

async function write(options: BackupOptions, database: OpenDatabase | null): Promise<BackupReport> {
  const { locations, passphrase, withKeys, withBucket, version, now = new Date() } = options;
  const createdAt = now.toISOString();
  const target = await openTarget(options.target, passphrase, { createdAt, platform: version });
  const work = await mkdtemp(path.join(locations.folder, 'backup-'));
  const writer = new BackupWriter(target.sink, target.codec, options.onProgress ?? (() => {}));
  try {
    let hasSandboxes = false;
    const onTable = ({ name, rows = 0 }: Part): void => {
      if (name === 'sandbox.sandbox' && rows > 0) hasSandboxes = true;
    };
    const dump = database === null ? null : await addTables(writer, database, onTable);
    await addDatabases(writer, locations, work);
    if (locations.bucket === null) await addFiles(writer, path.join(locations.folder, 'files'), work);
    else if (withBucket) await addBucketFiles(writer, locations.bucket, work);
    for (const folder of ['routes', 'repositories', 'artifacts']) await addTree(writer, locations.folder, folder);
    if (withKeys) await addKeys(writer, locations);
    const leftOut = [
      ...leftOutOf(locations, withKeys, withBucket),
      ...(hasSandboxes
        ? ['Files of sandboxes: after a restore, sandboxes whose machine is missing start without files']
        : []),
    ];
    const [keyId = null] = encryptionKeyIds(locations);
    const { location, bytes, manifest } = await writer.finish({
      platform: version,
      createdAt,
      schema: dump === null ? null : [...dump.applied],
      sequences: (dump?.sequences ?? []).map(([name, last]): [string, number] => [name, last]),
      keyId,
      leftOut,
    });
    return {
      ...reportOf(manifest, withKeys),
      location,
      createdAt,
      writtenBytes: bytes,
      isEncrypted: passphrase !== null,
      schema: dump?.applied.length ?? null,
    };
  } catch (error) {
    await target.sink.abort();
    throw error;
  } finally {
    await target.close();
    await rm(work, { recursive: true, force: true });
  }
}

function addTables(writer: BackupWriter, { sql }: OpenDatabase, onTable: (added: Part) => void): Promise<Dump | null> {
  return dumpTables(sql, async ({ name, columns, partitions }, rows) => {
    const bounds = partitions?.map(([partition, bound]): [string, string] => [partition, bound]);
    const part: PartName = { kind: 'table', name, columns: [...columns], ...(bounds && { partitions: bounds }) };
    onTable(await writer.add(part, rows, true));
  });
}

/** A consistent copy of each database, through SQLite, without blocking writers. */
async function addDatabases(writer: BackupWriter, { databases }: Locations, work: string): Promise<void> {
  if (databases === null) return;
  for (const namespace of await namesIn(databases)) {
    for (const file of await namesIn(path.join(databases, namespace))) {
      const name = `${namespace}/${file.replace(/\.sqlite$/, '')}`;
      if (!file.endsWith('.sqlite') || !isDatabaseName(name)) continue;
      const copy = path.join(work, 'database.sqlite');
      try {
        await backupTo(path.join(databases, namespace, file), copy);
      } catch (error) {
        // Deleted since the folder was listed.
        if ((await stat(path.join(databases, namespace, file)).catch(() => null)) === null) continue;
        throw new Error(`The database ${name} cannot be copied: ${(error as Error).message}`, { cause: error });
      }
      await writer.add({ kind: 'database', name }, createReadStream(copy));
      await rm(copy);
    }
  }
}

async function addKeys(writer: BackupWriter, { folder }: Locations): Promise<void> {
  for (const name of KEY_FILES) {
    const content = await readFile(path.join(folder, name)).catch(() => null);
    if (content !== null) await writer.add({ kind: 'key', name }, [content]);
  }
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
  return names.toSorted();
}

function leftOutOf({ bucket, databases, environment }: Locations, withKeys: boolean, withBucket: boolean): string[] {
  const given = ['ENCRYPTION_KEY', 'AUTH_SECRET'].filter((name) => (environment[name]?.trim() ?? '') !== '');
  return [
    ...(withKeys
      ? given.length === 0
        ? []
        : [`${given.join(' and ')}, which are set as variables: store them yourself`]
      : [
          'The keys (ENCRYPTION_KEY, AUTH_SECRET): without them, the variables and credentials in the backup cannot be read, and all users must sign in again',
        ]),
    ...(bucket === null || withBucket ? [] : [`Files of projects: they are in the bucket ${bucket.bucket}`]),
    ...(databases === null ? ['Project databases: they are not on this machine'] : []),
  ];
}

function reportOf(
  { parts, leftOut }: Manifest,
  hasKeys: boolean,
): Pick<BackupReport, 'bytes' | 'tables' | 'rows' | 'databases' | 'files' | 'artifacts' | 'hasKeys' | 'leftOut'> {
  const of = (kind: string): Manifest['parts'] => parts.filter((part) => part.kind === kind);
  const artifacts = new Set(of('file').flatMap(({ name }) => /^artifacts\/([^/]+)/.exec(name)?.[1] ?? []));
  return {
    bytes: parts.reduce((sum, part) => sum + part.bytes, 0),
    tables: of('table').length,
    rows: of('table').reduce((sum, { rows = 0 }) => sum + rows, 0),
    databases: of('database').length,
    files: of('content').length,
    artifacts: artifacts.size,
    hasKeys,
    leftOut,
  };
}

function explained(error: unknown, folder: string): Error {
  if (isFailure(error, 'backup')) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC')
    return backupError('space', 'The disk is full', `Free disk space, also in ${folder}, or choose another target.`, {
      cause: error,
    });
  return backupError(
    'failed',
    `The backup failed: ${message}`,
    'The partial files of the backup were removed. Try again.',
    {
      cause: error,
    },
  );
}
