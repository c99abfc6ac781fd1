// Deletes the oldest backups of a target when it has more than the maximum number. Called after each completed backup.
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import {
  listBackups,
  openArchiveBucket,
  openRepository,
  removeBackup,
  removeUnnamed,
} from '../archive/archive-bucket.ts';
import { openBackup } from '../archive/reader.ts';
import type { Target } from './target.ts';

const FILE = /^platform-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.tar$/;

/** Backups in a target, oldest first; none if the target is a single file. */
export async function backupsIn(target: Target): Promise<string[]> {
  if (target.kind === 'bucket') {
    const repository = await openRepository(target.bucket, target.prefix);
    try {
      return await listBackups(repository);
    } finally {
      await repository.close();
    }
  }
  if (target.kind === 'file') return [];
  const names = await readdir(target.path).catch(() => []);
  return names.filter((name) => FILE.test(name)).toSorted();
}

/**
 * Deletes the oldest backups, and in a bucket the contents that no backup references any more.
 *
 * @param keep how many to keep.
 * @returns the names of the deleted backups.
 */
export async function removeOldBackups(target: Target, keep: number, passphrase: string | null): Promise<string[]> {
  const names = await backupsIn(target);
  const old = names.slice(0, Math.max(0, names.length - keep));
  if (target.kind !== 'bucket') {
    if (target.kind === 'folder') for (const name of old) await rm(path.join(target.path, name), { force: true });
    return old;
  }
  if (old.length === 0) return old;
  const repository = await openRepository(target.bucket, target.prefix);
  try {
    // Checked before anything is deleted, because an unreadable backup would lose its contents.
    const used = new Set<string>();
    for (const name of names.slice(old.length)) {
      const source = await openArchiveBucket({ ...repository, close: async () => {} }, name);
      const { manifest } = await openBackup(source, passphrase);
      for (const { blobs } of manifest.parts) for (const id of blobs) used.add(id);
    }
    for (const name of old) await removeBackup(repository, name);
    await removeUnnamed(repository, used, Date.now());
  } finally {
    await repository.close();
  }
  return old;
}
