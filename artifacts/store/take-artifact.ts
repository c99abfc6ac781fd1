// Moves a complete artifact from a folder of the platform to the served artifacts: by a rename, or by a copy and a
// rename. Called by the builder's process, whose main thread must not wait for a copy.
import { chown, cp, lchown, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isArtifactId } from '#core/names.ts';
import { temporaryFolder } from '../route-records.ts';

/**
 * Stores an artifact under `<dataFolder>/artifacts/<id>`; an existing artifact is kept. The original folder no longer
 * exists afterwards if it was on the same disk.
 *
 * @throws {Error} when the id is invalid, or the disk fails; no artifact is then stored partially.
 */
export async function takeArtifact(dataFolder: string, id: string, folder: string): Promise<void> {
  if (!isArtifactId(id)) throw new Error(`"${id}" is not an artifact id`);
  const artifacts = path.join(dataFolder, 'artifacts');
  const target = path.join(artifacts, id);
  await mkdir(artifacts, { recursive: true, mode: 0o700 });
  if (await exists(target)) return;
  await giveToOwner(dataFolder, artifacts, folder);
  try {
    await rename(folder, target);
  } catch (error) {
    if (await exists(target)) return;
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await copy(dataFolder, id, folder, target);
  }
  await using handle = await open(artifacts, 'r');
  await handle.sync();
}

async function copy(dataFolder: string, id: string, folder: string, target: string): Promise<void> {
  const incoming = temporaryFolder(dataFolder, 'artifacts');
  try {
    await cp(folder, path.join(incoming, id), { recursive: true, errorOnExist: true });
    await giveToOwner(dataFolder, incoming, path.join(incoming, id));
    await rename(path.join(incoming, id), target);
  } catch (error) {
    if (!(await exists(target))) throw error;
  } finally {
    await rm(incoming, { recursive: true, force: true });
  }
}

/** A builder in its own container runs as root, unlike the handlers that read its output. */
async function giveToOwner(dataFolder: string, parent: string, folder: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(dataFolder);
  if (uid === 0) return;
  await chown(parent, uid, gid);
  const names = await readdir(folder, { recursive: true });
  for (const name of ['', ...names]) await lchown(path.join(folder, name), uid, gid);
}

function exists(folder: string): Promise<boolean> {
  return stat(folder).then(
    () => true,
    () => false,
  );
}
