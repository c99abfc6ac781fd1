// The store of artifacts on one machine, or on machines that mount one folder: the data folder.
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Failure } from '#core/failure.ts';
import { isArtifactId } from '#core/names.ts';
import type { ArtifactStore } from './artifact-store.ts';

/** @param dataFolder `FS_PATH`. */
export function openArtifactsDisk(dataFolder: string): ArtifactStore {
  const folder = path.join(dataFolder, 'artifacts');
  const expect = async (id: string): Promise<void> => {
    if (!(await hasArtifact(dataFolder, id)))
      throw new Failure('artifact_store', `There is no artifact ${id} in ${folder}`, { reason: 'missing' });
  };
  return {
    isShared: false,
    fetch: expect,
    upload: (id) => expect(id),
    async remove(id) {
      if (isArtifactId(id)) await rm(path.join(folder, id), { recursive: true, force: true });
    },
    list: () => listArtifacts(dataFolder),
    close: () => Promise.resolve(),
  };
}

/** Whether the data folder has an artifact. Its folder is only created when it is complete. */
export async function hasArtifact(dataFolder: string, id: string): Promise<boolean> {
  return isArtifactId(id) && (await isArtifactFolder(path.join(dataFolder, 'artifacts', id)));
}

/** Whether a folder contains an artifact. */
export async function isArtifactFolder(folder: string): Promise<boolean> {
  return (await stat(path.join(folder, 'manifest.json')).catch(() => null)) !== null;
}

/** When each artifact of the data folder was stored, in milliseconds since 1970. */
export async function listArtifacts(dataFolder: string): Promise<Map<string, number>> {
  const folder = path.join(dataFolder, 'artifacts');
  const stored = new Map<string, number>();
  for (const id of await readdir(folder).catch(() => [])) {
    const found = isArtifactId(id) ? await stat(path.join(folder, id)).catch(() => null) : null;
    if (found !== null) stored.set(id, found.mtimeMs);
  }
  return stored;
}
