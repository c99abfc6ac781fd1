// Backup targets: a file, a folder that gets one file per backup, or a bucket. Called by backup.ts, retention.ts and
// the commands; files are created only when they are needed.
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { BucketOptions } from '#core/s3/bucket.ts';
import { createArchiveBucket, openRepository } from '../archive/archive-bucket.ts';
import { createArchiveFile } from '../archive/archive-file.ts';
import { backupError } from '../archive/backup-error.ts';
import { codecFor, newCodec, type Codec } from '../archive/codec.ts';
import { FORMAT, type BackupHeader } from '../archive/manifest.ts';
import type { BackupSink } from '../archive/store.ts';
import type { Environment } from '../locations.ts';

/** A backup target. */
export type Target =
  | { readonly kind: 'file' | 'folder'; readonly path: string }
  | { readonly kind: 'bucket'; readonly bucket: BucketOptions; readonly prefix: string };

/**
 * @param text a file, a folder (existing, or with a trailing slash), or `s3://bucket/prefix`.
 * @throws {Failure} `backup`: `settings` when variables of the bucket are missing.
 */
export function parseTarget(text: string, cwd: string, environment: Environment): Target {
  if (!text.startsWith('s3://')) {
    const at = path.resolve(cwd, text);
    const isFolder = text.endsWith('/') || (existsSync(at) && !text.endsWith('.tar'));
    return { kind: isFolder ? 'folder' : 'file', path: at };
  }
  const [, bucket, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(text) ?? [];
  if (bucket === undefined || prefix.split('/').some((part) => part === '.' || part === '..'))
    throw backupError('settings', `${text} is not a bucket`, 'Write s3://<bucket>/<prefix>.');
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const names = ['ENDPOINT', 'REGION', 'ACCESS_KEY_ID', 'SECRET_ACCESS_KEY'].map((name) => `BACKUP_S3_${name}`);
  const missing = names.filter((name) => get(name) === '');
  if (missing.length > 0)
    throw backupError(
      'settings',
      `A backup in a bucket needs ${missing.join(', ')}`,
      'Set these variables to a key with access to this bucket only.',
    );
  if (!/^https?:\/\/[^/]+\/?$/.test(get('BACKUP_S3_ENDPOINT')))
    throw backupError(
      'settings',
      'BACKUP_S3_ENDPOINT is not a valid address of S3 storage',
      'Set BACKUP_S3_ENDPOINT to an address such as https://s3.eu-central-1.amazonaws.com.',
    );
  return {
    kind: 'bucket',
    prefix: prefix.replace(/^\/+|\/+$/g, ''),
    bucket: {
      endpoint: get('BACKUP_S3_ENDPOINT'),
      bucket,
      region: get('BACKUP_S3_REGION'),
      accessKeyId: get('BACKUP_S3_ACCESS_KEY_ID'),
      secretAccessKey: get('BACKUP_S3_SECRET_ACCESS_KEY'),
    },
  };
}

/** Name of a backup's file, or of its manifest. @example backupName('2026-11-23T13:00:00.000Z') */
function backupName(createdAt: string): string {
  return `platform-${createdAt.replace(/[:.]/g, '-')}`;
}

/** The folder that the target's archive is written to; null means a bucket. */
export function folderOf(target: Target): string | null {
  if (target.kind === 'bucket') return null;
  return target.kind === 'folder' ? target.path : path.dirname(target.path);
}

/** Opens a target for one backup. @throws {Failure} `backup` when the target cannot be written. */
export async function openTarget(
  target: Target,
  passphrase: string | null,
  about: { readonly createdAt: string; readonly platform: string },
): Promise<{ readonly sink: BackupSink; readonly codec: Codec; close(): Promise<void> }> {
  const header = { format: FORMAT, ...about };
  if (target.kind === 'bucket') {
    const repository = await openRepository(target.bucket, target.prefix);
    try {
      // Backups in one bucket share contents, so they also share the salt that content names depend on.
      const codec =
        repository.encryption === undefined
          ? await newCodec(passphrase)
          : await codecFor(headerWith(header, repository.encryption), passphrase);
      if (repository.encryption === null && passphrase !== null)
        throw backupError(
          'passphrase',
          'The backups in the bucket are not encrypted',
          'Choose another prefix for encrypted backups, or unset BACKUP_PASSPHRASE.',
        );
      const whole = headerWith(header, codec.encryption);
      const sink = await createArchiveBucket(repository, backupName(about.createdAt), whole);
      return { sink, codec, close: () => repository.close() };
    } catch (error) {
      await repository.close();
      throw error;
    }
  }
  const file = target.kind === 'file' ? target.path : path.join(target.path, `${backupName(about.createdAt)}.tar`);
  if (existsSync(file))
    throw backupError(
      'settings',
      `${file} already exists`,
      'Choose another file: existing backups are not overwritten.',
    );
  const codec = await newCodec(passphrase);
  return { codec, sink: await createArchiveFile(file, headerWith(header, codec.encryption)), close: async () => {} };
}

function headerWith(header: Omit<BackupHeader, 'encryption'>, encryption: BackupHeader['encryption']): BackupHeader {
  return { ...header, encryption };
}
