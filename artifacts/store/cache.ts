// Limits the artifacts on a machine that uses a shared store: deletes the oldest artifacts that no route record of this
// machine names. Artifacts of route records are kept, so they can always be served.
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isArtifactId } from '#core/names.ts';
import { listArtifacts } from './artifact-store-disk.ts';

/** Bytes of the remaining artifacts after a cleanup, and how many artifacts were deleted. */
interface CacheState {
  readonly bytes: number;
  readonly removed: number;
}

/** Younger artifacts may belong to a release in progress, or to a record that has not arrived yet. */
const YOUNG_MS = 3_600_000;

/**
 * Creates the cleanup function; the size of an artifact is measured once.
 *
 * @param dataFolder `FS_PATH`. @param bytesMax `ARTIFACTS_CACHE_BYTES`.
 */
export function createArtifactCache(dataFolder: string, bytesMax: number): (now: number) => Promise<CacheState> {
  const sizes = new Map<string, number>();
  return async (now) => {
    const stored = await listArtifacts(dataFolder);
    for (const id of sizes.keys()) if (!stored.has(id)) sizes.delete(id);
    let bytes = 0;
    for (const id of stored.keys()) {
      const size = sizes.get(id) ?? (await sizeOf(path.join(dataFolder, 'artifacts', id)));
      sizes.set(id, size);
      bytes += size;
    }
    let removed = 0;
    if (bytes <= bytesMax) return { bytes, removed };
    const named = await namedArtifacts(dataFolder);
    for (const [id, at] of [...stored].toSorted(([, a], [, b]) => a - b)) {
      if (bytes <= bytesMax) break;
      if (named.has(id) || now - at < YOUNG_MS) continue;
      await rm(path.join(dataFolder, 'artifacts', id), { recursive: true, force: true });
      bytes -= sizes.get(id)!;
      sizes.delete(id);
      removed++;
    }
    return { bytes, removed };
  };
}

/** Artifacts in the route records of this machine. Ids in a file that cannot be parsed count as well. */
async function namedArtifacts(dataFolder: string): Promise<Set<string>> {
  const folder = path.join(dataFolder, 'routes');
  const named = new Set<string>();
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.endsWith('.json')) continue;
    const text = await readFile(path.join(folder, name), 'utf8');
    for (const [id] of text.matchAll(/\b[0-9a-f]{64}\b/g)) if (isArtifactId(id)) named.add(id);
  }
  return named;
}

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])) {
    if (!entry.isFile()) continue;
    const found = await stat(path.join(entry.parentPath, entry.name)).catch(() => null);
    bytes += found?.size ?? 0;
  }
  return bytes;
}
