// Files on their way between a client and an engine: uploads, and copies of databases.
import { createHash } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';

/** A file that is not written to for this long is deleted. */
const LIFE_MS = 2 * 3_600_000;

/** Deletes abandoned files of a folder. @returns the names of the remaining files. */
export async function removeAbandoned(folder: string): Promise<string[]> {
  const kept: string[] = [];
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    const found = await stat(file).catch(() => null);
    if (found?.isFile() !== true) continue;
    if (Date.now() - found.mtimeMs > LIFE_MS) await rm(file, { force: true });
    else kept.push(name);
  }
  return kept;
}

/** The beginning of the names of a project's files. */
export function projectPrefix(project: string): string {
  return `${createHash('sha256').update(project).digest('hex').slice(0, 16)}-`;
}
