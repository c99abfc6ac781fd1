// The stores of `platform dev`: SQLite files and folders below `.platform/`, with nothing to install. dev.ts opens them.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { defaultLimits, type Limits } from '#core/limits.ts';
import type { BindingStores } from '../bindings/bindings.ts';
import { openFilesDisk } from './files-disk.ts';
import { boundState, stateBounds } from './project-bounds.ts';
import { openStateSqlite } from './state-sqlite.ts';

/** Open stores. */
export interface LocalStores {
  readonly stores: BindingStores;
  close(): void;
}

/** @param folder where they lie; made where it is not there. */
export function openLocalStores(
  folder: string,
  limits: Pick<Limits, 'projectFileBytesMax' | 'projectStateBytesMax'> = defaultLimits,
): LocalStores {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const state = openStateSqlite(join(folder, 'state.sqlite'));
  const bounds = stateBounds(async (namespace) => state.bytes(namespace), limits.projectStateBytesMax);
  const fs = openFilesDisk(join(folder, 'files'), { namespaceBytesMax: limits.projectFileBytesMax });
  return {
    stores: { state: boundState(state, bounds), fs },
    close() {
      state.close();
      fs.close();
    },
  };
}
