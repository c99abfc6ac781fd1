// Backs up project files: an index and every content it references. On disk, a content never changes but may be deleted
// during the backup; then the index is copied again and new contents are added. Files in a bucket get the same format,
// so that they can be restored to disk. Called by backup.ts.
import { createReadStream, existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { backupTo } from '#runtime/databases/sqlite/copies.ts';
import { openFilesDisk } from '#runtime/stores/files-disk.ts';
import { openFilesIndex } from '#runtime/stores/files-disk-index.ts';
import { openFilesS3 } from '#runtime/stores/files-s3.ts';
import type { BackupWriter } from '../archive/writer.ts';
import type { Locations } from '../locations.ts';

/** Each further pass reads only files that were added since, so it is short. */
const ATTEMPTS_MAX = 50;

/** @param folder `<FS_PATH>/files`. @param work folder for the copy of the index. */
export async function addFiles(writer: BackupWriter, folder: string, work: string): Promise<void> {
  const index = path.join(folder, 'index.sqlite');
  if (!existsSync(index)) return;
  const copy = path.join(work, 'index.sqlite');
  const added = new Set<string>();
  for (let attempt = 1; ; attempt++) {
    await backupTo(index, copy);
    const open = openFilesIndex(copy);
    const named = open.contents();
    open.close();
    let gone = 0;
    for (const name of named.keys()) {
      if (added.has(name)) continue;
      try {
        await writer.add(
          { kind: 'content', name },
          createReadStream(path.join(folder, 'content', name.slice(0, 2), name)),
        );
        added.add(name);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        gone++;
      }
    }
    if (gone === 0) {
      writer.drop((part) => part.kind === 'content' && !named.has(part.name));
      break;
    }
    if (attempt === ATTEMPTS_MAX) throw new Error(`${gone} files change faster than they can be read`);
  }
  await writer.add({ kind: 'index', name: 'files' }, createReadStream(copy));
  for (const suffix of ['', '-wal', '-shm']) await rm(copy + suffix, { force: true });
}

/** Maximum size of the files that are staged in the work folder until they are added to the backup. */
const HELD_BYTES_MAX = 256 * 1024 * 1024;

/** @param work folder for a few files at a time, and their index. */
export async function addBucketFiles(
  writer: BackupWriter,
  bucket: NonNullable<Locations['bucket']>,
  work: string,
): Promise<void> {
  const folder = path.join(work, 'files');
  const source = openFilesS3({ ...bucket, uploadBytesHeldMax: 0 });
  const index = openFilesDisk(folder);
  let held = 0;
  try {
    for await (const { key, ...place } of source.everything()) {
      const found = await source.get(place, key, { range: null, onlyIf: null });
      // The file was deleted after it was listed.
      if (found?.body == null) continue;
      const { headers, metadata, digests, size } = found.head;
      await index.put(place, key, found.body as never, {
        headers,
        metadata,
        digests,
        onlyIf: null,
        bytesMax: Number.MAX_SAFE_INTEGER,
      });
      held += size;
      if (held < HELD_BYTES_MAX) continue;
      await moveContents(writer, path.join(folder, 'content'));
      held = 0;
    }
    await moveContents(writer, path.join(folder, 'content'));
  } finally {
    index.close();
    await source.close();
  }
  await writer.add({ kind: 'index', name: 'files' }, createReadStream(path.join(folder, 'index.sqlite')));
}

async function moveContents(writer: BackupWriter, folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/^[0-9a-f]{32}$/.test(entry.name)) continue;
    const file = path.join(entry.parentPath, entry.name);
    await writer.add({ kind: 'content', name: entry.name }, createReadStream(file));
    await rm(file);
  }
}
