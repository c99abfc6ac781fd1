// Rows of the sandboxes of `platform dev`, in a file of the project's folder. Used by sandboxes.ts, which checks at
// each start whether sandboxes were left, and by sandbox-service.ts.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { storedOptions } from '#core/sandbox/options.ts';
import type { SandboxRow } from '#sandbox/service/rows.ts';

/** The kind of machines, because one kind cannot find machines of another kind. */
export function rowsFileOf(folder: string, provider: string): string {
  return path.join(folder, provider === 'local' ? 'rows.json' : `rows-${provider}.json`);
}

/** Whether the `platform dev` that wrote this file was not shut down properly. */
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
    // Sandboxes that were running are stopped, because their process or container has ended.
    return rows.map((row) => ({ ...asStopped(row), options: storedOptions(row.options) }));
  } catch {
    return [];
  }
}
