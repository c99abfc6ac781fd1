// Disk usage of each namespace's databases: files with their logs, branches, snapshots, and damaged files that were set
// aside. Computed when the control plane counts (service.ts). Also deletes the remaining files of a namespace.
import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';

/** @returns bytes by namespace. */
export async function keptBytes(directory: string): Promise<Record<string, number>> {
  const kept: Record<string, number> = {};
  for (const folder of await readdir(directory, { withFileTypes: true })) {
    if (!folder.isDirectory() || folder.name.startsWith('.')) continue;
    const inside = path.join(directory, folder.name);
    let bytes = 0;
    for (const name of await readdir(inside, { recursive: true }).catch(() => [])) {
      // A file that is deleted during the count is not counted.
      const found = await stat(path.join(inside, name)).catch(() => null);
      if (found?.isFile() === true) bytes += found.size;
    }
    kept[folder.name] = bytes;
  }
  return kept;
}

/** Deletes the files of a namespace's folder, and the folder, unless it contains a database. */
export async function sweepNamespace(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  if (names.some((name) => name.endsWith('.sqlite'))) return;
  for (const name of names) await rm(path.join(folder, name), { recursive: true, force: true });
  // A database that is created in the meantime is kept.
  await rmdir(folder).catch(() => {});
}
