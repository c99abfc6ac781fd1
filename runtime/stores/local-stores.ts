// The stores of `platform dev`: SQLite files and folders below `.platform/`, with nothing to install. dev.ts opens them.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BindingStores } from '../bindings/bindings.ts';
import { openFilesDisk } from './files-disk.ts';
import { openStateSqlite } from './state-sqlite.ts';

/** Open stores. */
export interface LocalStores {
  readonly stores: BindingStores;
  /** Signs addresses of files; the same after a restart. */ readonly signingKey: Uint8Array;
  close(): void;
}

/** @param folder where they lie; made where it is not there. */
export function openLocalStores(folder: string): LocalStores {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const state = openStateSqlite(join(folder, 'state.sqlite'));
  const fs = openFilesDisk(join(folder, 'files'));
  return {
    stores: { state, fs },
    signingKey: readKey(join(folder, 'signing-key')),
    close() {
      state.close();
      fs.close();
    },
  };
}

function readKey(file: string): Uint8Array {
  try {
    // Another `platform dev` of the workspace may have made it at the same moment.
    writeFileSync(file, randomBytes(32), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file);
}
