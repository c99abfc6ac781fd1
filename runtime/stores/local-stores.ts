// The stores of `platform dev`: SQLite files and folders below `.platform/`, with nothing to install. dev.ts opens them.
import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultLimits, type Limits } from '#core/limits.ts';
import type { BindingStores } from '../bindings/bindings.ts';
import { openFilesDisk } from './files-disk.ts';
import { boundState, stateBounds } from './project-bounds.ts';
import { openStateSqlite } from './state-sqlite.ts';

/** Open stores. */
export interface LocalStores {
  readonly stores: BindingStores;
  /** Signs addresses of files; the same after a restart. */ readonly signingKey: Uint8Array;
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
    signingKey: readKey(join(folder, 'signing-key')),
    close() {
      state.close();
      fs.close();
    },
  };
}

const keyBytes = 32;

/** The key in a file, which is whole or not there: one that is cut short, by a full disk say, would sign for everybody. */
function readKey(file: string): Uint8Array {
  const found = readWhole(file);
  if (found !== null) return found;
  const beside = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writeFileSync(beside, randomBytes(keyBytes), { flag: 'wx', mode: 0o600 });
  try {
    // Another `platform dev` of the workspace may have made it at the same moment: then it is that one.
    linkSync(beside, file);
  } catch (error) {
    // Some file systems know no second names.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || readWhole(file) === null) renameSync(beside, file);
  } finally {
    rmSync(beside, { force: true });
  }
  return readWhole(file) ?? readKey(file);
}

function readWhole(file: string): Uint8Array | null {
  if (!existsSync(file)) return null;
  const key = readFileSync(file);
  return key.byteLength === keyBytes ? key : null;
}
