// Backs up a folder of the data folder file by file: route records, repositories, artifacts. Files that are deleted in
// the meantime are skipped. Called by backup.ts.
import { createReadStream, type Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { BackupWriter } from '../archive/writer.ts';

/** Attempts for a folder whose files move while they are read, as when Git packs them. */
const ATTEMPTS_MAX = 5;
/** Temporary files that will be renamed. */
const UNFINISHED = /(?:^|\/)(?:\.|tmp_)|\.(?:unfinished|lock|tmp)(?:$|\/)|\.\d+$/;

/** @param name folder in the data folder. */
export async function addTree(writer: BackupWriter, dataFolder: string, name: string): Promise<void> {
  for (const child of await list(path.join(dataFolder, name))) {
    const below = `${name}/${child.name}`;
    if (UNFINISHED.test(below)) continue;
    if (name === 'repositories') {
      // The folder also contains other files, such as records of pushes.
      if (child.isDirectory() && child.name.endsWith('.git')) await addRepository(writer, dataFolder, below);
    } else if (child.isDirectory()) await addFolder(writer, dataFolder, below, false);
    else if (child.isFile()) await addFile(writer, dataFolder, below);
  }
}

/**
 * References are read first, because the objects to which they point already exist and are not deleted. If Git packs
 * objects in the meantime, a loose object may disappear before it is read, while its pack was not listed yet. If this
 * happens, all files are read again.
 */
async function addRepository(writer: BackupWriter, dataFolder: string, name: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    let isWhole = true;
    for (const child of (await list(path.join(dataFolder, name))).toSorted(objectsLast)) {
      const below = `${name}/${child.name}`;
      if (child.name === 'hooks' || UNFINISHED.test(below)) continue;
      const added = child.isDirectory()
        ? await addFolder(writer, dataFolder, below, true)
        : !child.isFile() || (await addFile(writer, dataFolder, below));
      isWhole &&= added;
    }
    if (isWhole) return;
    writer.drop((part) => part.kind === 'file' && part.name.startsWith(`${name}/`));
    if (attempt === ATTEMPTS_MAX) throw new Error(`${name} changed during every attempt`);
  }
}

function objectsLast(a: Dirent, b: Dirent): number {
  return Number(a.name === 'objects') - Number(b.name === 'objects');
}

/** @returns whether every listed file was read. */
async function addFolder(writer: BackupWriter, dataFolder: string, name: string, stops: boolean): Promise<boolean> {
  let isWhole = true;
  for (const child of await list(path.join(dataFolder, name))) {
    const below = `${name}/${child.name}`;
    if (stops && UNFINISHED.test(below)) continue;
    const added = child.isDirectory()
      ? await addFolder(writer, dataFolder, below, stops)
      : !child.isFile() || (await addFile(writer, dataFolder, below));
    isWhole &&= added;
    if (stops && !isWhole) return false;
  }
  return isWhole;
}

/** @returns false when the file was deleted. */
async function addFile(writer: BackupWriter, dataFolder: string, name: string): Promise<boolean> {
  try {
    await writer.add({ kind: 'file', name }, createReadStream(path.join(dataFolder, name)));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function list(folder: string): Promise<Dirent[]> {
  try {
    return (await readdir(folder, { withFileTypes: true })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
