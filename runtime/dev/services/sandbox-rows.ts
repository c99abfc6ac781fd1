// Rows of the sandboxes of `platform dev`, in a file of the project's folder. Used by sandboxes.ts, which asks at each
// start whether some were left, and by sandbox-service.ts.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { storedOptions } from '#core/sandbox/options.ts';
import type { SandboxRow } from '#sandbox/service/rows.ts';

/** Machines of one kind cannot be found by another kind. */
export function rowsFileOf(folder: string, provider: string): string {
  return path.join(folder, provider === 'local' ? 'rows.json' : `rows-${provider}.json`);
}

/** Whether the dev that wrote this was not shut down properly. */
export function hasLeft(file: string): boolean {
  try {
    const rows = JSON.parse(readFileSync(file, 'utf8')) as readonly SandboxRow[];
    return rows.some(({ state }) => state !== 'stopped');
  } catch {
    return false;
  }
}

export const asStopped = (row: SandboxRow): SandboxRow => ({
  ...row,
  state: row.state === 'creating' ? 'creating' : 'stopped',
});

/** Sandboxes without a valid file are ignored, and their data is removed. */
export function readRows(file: string): readonly SandboxRow[] {
  try {
    const rows = JSON.parse(readFileSync(file, 'utf8')) as readonly SandboxRow[];
    // Running sandboxes were in a process or a container that has ended.
    return rows.map((row) => ({ ...asStopped(row), options: storedOptions(row.options) }));
  } catch {
    return [];
  }
}
