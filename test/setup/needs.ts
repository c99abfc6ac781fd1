// What tests need of the machine beside Node and Git. A file whose tests all need the same takes its `test` from here:
// where that is missing one line says so at once, and nothing is started.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { nodeFolders } from '#core/process/confinement/command-line.ts';
import { confinementOf } from '#core/process/confinement/confinement.ts';

type Tests = Pick<typeof import('node:test'), 'test' | 'before' | 'after'>;

/** Why nothing fences servers for Node on this machine; null: something does. @param fence by that program alone */
export async function serverFenceMissing(fence?: 'bwrap' | 'own'): Promise<string | null> {
  const folder = mkdtempSync(join(tmpdir(), 'fence-'));
  try {
    chmodSync(folder, 0o711);
    const { kind, reason } = await confinementOf({
      workFolders: folder,
      privateFolders: [],
      readable: nodeFolders(),
      needs: process.execPath,
      isOffline: true,
      environment: { ...process.env, ...(fence !== undefined && { PLATFORM_FENCE: fence }) },
    });
    return kind === 'namespaces' ? null : `nothing fences servers for Node here: ${reason}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param missing why they cannot run; null: they can.
 *
 * @example
 * const { test, before, after } = testsUnless(await serverFenceMissing());
 */
export function testsUnless(missing: string | null): Tests {
  if (missing === null) return { test, before, after };
  test('the tests of this file', { skip: missing }, () => {});
  const none = (): Promise<void> => Promise.resolve();
  return { test: none as unknown as Tests['test'], before: none, after: none };
}
