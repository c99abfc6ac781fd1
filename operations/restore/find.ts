// Opens a backup by its location: a file, or a backup in a bucket. Called by `platform restore`.
import path from 'node:path';
import { openArchiveBucket, openRepository } from '../archive/archive-bucket.ts';
import { openArchiveFile } from '../archive/archive-file.ts';
import { openBackup, type OpenBackup } from '../archive/reader.ts';
import { parseTarget } from '../backup/target.ts';
import type { Environment } from '../locations.ts';

const NAMED = /^(s3:\/\/.+)\/(platform-[0-9TZ-]+)$/;

/** @throws {Failure} `backup` when the backup does not exist, is damaged, or the passphrase is wrong. */
export async function openBackupAt(
  text: string,
  cwd: string,
  environment: Environment,
  passphrase: string | null,
): Promise<OpenBackup> {
  if (!text.startsWith('s3://')) return openBackup(await openArchiveFile(path.resolve(cwd, text)), passphrase);
  const [, location = text, name = null] = NAMED.exec(text) ?? [];
  const target = parseTarget(location, cwd, environment);
  if (target.kind !== 'bucket') throw new Error(`${text} is not a bucket`);
  return openBackup(await openArchiveBucket(await openRepository(target.bucket, target.prefix), name), passphrase);
}
