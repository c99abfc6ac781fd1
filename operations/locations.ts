// Locates a platform's data from its variables and data folder. Used by backup, restore, upgrade and doctor; it opens
// no files itself.
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { encryptionKeys } from '#core/encryption.ts';
import type { Failure } from '#core/failure.ts';
import { readSecret } from '#core/process/secret-file.ts';
import { findEmbeddedPostgres, startEmbeddedPostgres } from '#postgres/embedded.ts';
import { openSql, type Sql } from '#postgres/sql.ts';
import type { BucketOptions } from '#core/s3/bucket.ts';
import { backupError } from './archive/backup-error.ts';
import { readDataFolderRecord } from '#core/process/platform-record.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a platform stores its data. */
export interface Locations {
  /** Data folder. */
  readonly folder: string;
  /** `none`: bindings that use it are disabled. */
  readonly postgres: 'embedded' | 'none' | { readonly url: string };
  /** Folder of the project databases; null if they are not local files. */
  readonly databases: string | null;
  /** Bucket and key prefix of project files; null if they are in the data folder. */
  readonly bucket: (BucketOptions & { readonly prefix: string }) | null;
  readonly environment: Environment;
}

/** @throws {Failure} `backup`: `settings` when variables contradict the data folder. */
export function locationsOf(environment: Environment, folder: string): Locations {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const url = get('DATABASE_URL');
  const s3 = ['ENDPOINT', 'BUCKET', 'REGION', 'ACCESS_KEY_ID', 'SECRET_ACCESS_KEY'].map((name) => `FILES_S3_${name}`);
  const missing = s3.filter((name) => get(name) === '');
  if (missing.length > 0 && missing.length < s3.length)
    throw backupError(
      'settings',
      `Files in S3 need ${missing.join(' and ')}`,
      'Set the missing variables, or unset all of FILES_S3_*.',
    );
  const isElsewhere = get('DB_URL') !== '' || get('DB_STORAGE_MODE') === 'managed-cloud';
  return {
    folder,
    environment,
    postgres: url === '' ? 'embedded' : url.toLowerCase() === 'none' ? 'none' : { url },
    databases: isElsewhere ? null : get('DB_STORAGE_DIR') || path.join(folder, 'databases'),
    bucket:
      missing.length > 0
        ? null
        : {
            endpoint: get('FILES_S3_ENDPOINT'),
            bucket: get('FILES_S3_BUCKET'),
            region: get('FILES_S3_REGION'),
            accessKeyId: get('FILES_S3_ACCESS_KEY_ID'),
            secretAccessKey: get('FILES_S3_SECRET_ACCESS_KEY'),
            prefix: get('FILES_S3_PREFIX').replace(/^\/+|\/+$/g, ''),
          },
  };
}

/**
 * Compares the variables with those of the platform's last start.
 *
 * @throws {Failure} `backup` `settings`, naming the variable: otherwise a backup would silently miss data stored
 * elsewhere.
 */
export function checkLocations(locations: Locations): void {
  const { folder, postgres, bucket, databases } = locations;
  if (!existsSync(folder))
    throw backupError(
      'settings',
      `There is no data folder ${folder}`,
      'Set FS_PATH (or PLATFORM_HOME) to the value that the platform uses.',
    );
  const owner = statSync(folder).uid;
  const self = process.geteuid?.() ?? owner;
  if (owner !== self)
    throw backupError(
      'settings',
      `${folder} belongs to the user ${owner}, and this program runs as ${self}`,
      `Run the command as that user: files of another user would prevent the platform from starting. For example \`sudo -u '#${owner}' platform ...\`.`,
    );
  const record = readDataFolderRecord(folder);
  if (record === null) return;
  const differ = (variable: string, what: string): Failure<'backup'> =>
    backupError('settings', `The platform of ${folder} ${what}`, `Set ${variable} here as it is set for the platform.`);
  if (record.postgres === 'external' && postgres === 'embedded')
    throw differ('DATABASE_URL', 'works with a Postgres of your own');
  if (record.files === 's3' && bucket === null) throw differ('FILES_S3_*', 'keeps files of projects in a bucket');
  if (record.databases !== 'folder' && databases !== null)
    throw differ('DB_URL or DB_STORAGE_MODE', 'has project databases elsewhere');
}

/** Connects to the database; a stopped embedded database runs while the connection is open. */
export interface OpenDatabase {
  readonly sql: Sql;
  close(): Promise<void>;
}

/**
 * @param mayMake whether to create an embedded database if it has no data yet. @returns null if there is no database.
 */
export async function openDatabase(locations: Locations, mayMake: boolean): Promise<OpenDatabase | null> {
  const { postgres, folder } = locations;
  if (postgres === 'none') return null;
  const open = (url: string): Sql => openSql({ url, name: 'platform backup', connectionsMax: 2 });
  if (postgres !== 'embedded') {
    const sql = open(postgres.url);
    return { sql, close: () => sql.end({ timeout: 5 }) };
  }
  const own = path.join(folder, 'postgres');
  const found = findEmbeddedPostgres(own);
  if (found === null && !mayMake) return null;
  if (found?.isRunning === true) {
    const sql = open(found.url);
    try {
      await sql`SELECT 1`;
      return { sql, close: () => sql.end({ timeout: 5 }) };
    } catch {
      // A stale socket of a stopped server.
      await sql.end({ timeout: 1 });
    }
  }
  const server = await startEmbeddedPostgres({ folder: own });
  const sql = open(server.url);
  return {
    sql,
    async close() {
      await sql.end({ timeout: 5 });
      await server.stop();
    },
  };
}

/** First bytes of the hash of the key that encrypts variables, hex; null if no key was found. */
export function encryptionKeyIds({ environment, folder }: Pick<Locations, 'environment' | 'folder'>): string[] {
  const text = environment['ENCRYPTION_KEY']?.trim() || readSecret(path.join(folder, 'secrets', 'encryption-key'));
  if (text === null || text === '') return [];
  try {
    return encryptionKeys(text).all.map(({ id }) => id.toString('hex'));
  } catch {
    return [];
  }
}
