// Which backups of a target go when there are more than are kept. Called after a backup that was made.
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

/** Backups in a target, the oldest first; of a file itself, none. */
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
 * Removes the oldest backups, and in a bucket what no backup needs any more.
 *
 * @param keep how many stay.
 * @returns the names of those that are gone.
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
    // Before anything goes: one that cannot be read would lose its contents.
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
