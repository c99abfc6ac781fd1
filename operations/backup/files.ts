// The files of projects on disk, into a backup: a copy of their index, and every content that it names. A content is
// never changed, but it may go while others are read: then the index is copied again, and what is new is added.
// Called by backup.ts.
import { createReadStream, existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { backupTo } from '#runtime/databases/sqlite/copies.ts';
import { openFilesIndex } from '#runtime/stores/files-disk-index.ts';
import type { BackupWriter } from '../archive/writer.ts';

/** Each further one reads only what has come since: a moment. */
const ATTEMPTS_MAX = 50;

/** @param folder `<FS_PATH>/files`. @param work for the copy of the index. */
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
