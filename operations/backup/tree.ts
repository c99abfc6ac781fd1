// A folder of the data folder, file by file, into a backup: route records, repositories, artifacts. What is deleted
// meanwhile is left out. Called by backup.ts.
import { createReadStream, type Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { BackupWriter } from '../archive/writer.ts';

/** Attempts at a folder whose files change their places: Git packs them together. */
const ATTEMPTS_MAX = 5;
/** Files that are on their way to their names. */
const UNFINISHED = /(?:^|\/)(?:\.|tmp_)|\.(?:unfinished|lock|tmp)(?:$|\/)|\.\d+$/;

/** @param name folder in the data folder. */
export async function addTree(writer: BackupWriter, dataFolder: string, name: string): Promise<void> {
  for (const child of await list(path.join(dataFolder, name))) {
    const below = `${name}/${child.name}`;
    if (UNFINISHED.test(below)) continue;
    if (name === 'repositories') {
      // Notes of pushes and a socket's name lie beside them.
      if (child.isDirectory() && child.name.endsWith('.git')) await addRepository(writer, dataFolder, below);
    } else if (child.isDirectory()) await addFolder(writer, dataFolder, below, false);
    else if (child.isFile()) await addFile(writer, dataFolder, below);
  }
}

/**
 * References first: what they lead to is there from before, and stays. When Git packs objects at that moment, a loose
 * one is gone before it is read, and its pack came too late: then everything is read again.
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
    if (attempt === ATTEMPTS_MAX) throw new Error(`${name} changes all the time`);
  }
}

function objectsLast(a: Dirent, b: Dirent): number {
  return Number(a.name === 'objects') - Number(b.name === 'objects');
}

/** @returns whether all that was listed was read. */
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

/** @returns false when it is gone. */
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
