// Removes temporary folders and stops servers of a measurement when its process ends, unless by SIGKILL.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const endings = new Set<() => void>();
process.once('exit', () => {
  for (const end of endings) end();
});
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)
  process.once(signal, () => process.exit(code));

/** Runs at the end of the process, unless the function that comes back was called before. */
export function atExit(end: () => void): () => void {
  endings.add(end);
  return () => void endings.delete(end);
}

/** A fresh folder that is gone at the end; removing it earlier is well. */
export function temporaryFolder(prefix = 'platform-bench-'): string {
  const folder = mkdtempSync(path.join(tmpdir(), prefix));
  atExit(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
