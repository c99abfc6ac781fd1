// The stores of `platform dev`: SQLite files and folders below `.platform/`, without an installation. Opened by dev.ts.
import { mkdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { FreeSpace, whereThereIsSpace } from '#core/process/free-space.ts';
import { defaultLimits, type Limits } from '#core/limits.ts';
import type { BindingStores } from '../engine/bindings/bindings.ts';
import { openFilesDisk } from './files-disk.ts';
import { limitState, stateLimit } from './project-limits.ts';
import { openStateSqlite } from './state-sqlite.ts';

/** Open stores. */
interface LocalStores {
  readonly stores: BindingStores;
  close(): void;
}

/** @param folder the folder of the stores, which is created if necessary. */
export function openLocalStores(
  folder: string,
  limits: Pick<Limits, 'diskFreeBytesMin' | 'projectFileBytesMax' | 'projectStateBytesMax'> = defaultLimits,
): LocalStores {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const space = new FreeSpace(folder, limits.diskFreeBytesMin, statfsSync);
  const state = openStateSqlite(join(folder, 'state.sqlite'));
  const limit = stateLimit(async (namespace) => state.bytes(namespace), limits.projectStateBytesMax);
  const files = openFilesDisk(join(folder, 'files'), { namespaceBytesMax: limits.projectFileBytesMax, space });
  return {
    stores: { state: whereThereIsSpace(limitState(state, limit), space, ['put', 'update']), files },
    close() {
      state.close();
      files.close();
    },
  };
}
