// The folder `routes` of this machine, as the mirror writes it: contains the files of the records, and the note
// `mirror` with the platform to which they belong, and the time when they were last complete. No other process writes
// to this folder.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseRouteRecord } from '#artifacts/route-record.ts';
import { replaceRouteFile } from '#artifacts/route-records.ts';
import { macOf, type RouteKeys } from '#artifacts/sealed-route.ts';
import type { RouteRecord } from '#core/manifest.ts';
import { isProjectName } from '#core/names.ts';
import { STORAGE_FILE } from '#core/storage-left.ts';

/** The note. */
interface Note {
  readonly installation: string;
  /** ISO 8601. */
  readonly syncedAt: string;
}

/** The name does not end with `.json`, because the file is not a route record. */
const NOTE_FILE = 'mirror';

/** Whether a file with this name may be written to the folder. */
export function isRouteFile(name: string): boolean {
  return name === STORAGE_FILE || (name.endsWith('.json') && isProjectName(name.slice(0, -'.json'.length)));
}

/** The MACs of the existing files. */
export async function macsIn(folder: string, keys: RouteKeys): Promise<Map<string, Buffer>> {
  const routes = path.join(folder, 'routes');
  const macs = new Map<string, Buffer>();
  for (const name of await readdir(routes).catch(() => []))
    if (isRouteFile(name)) macs.set(name, macOf(keys, name, await readFile(path.join(routes, name), 'utf8')));
  return macs;
}

/** The record in a file; null if it is missing or unreadable. */
export async function recordIn(folder: string, name: string): Promise<RouteRecord | null> {
  try {
    return parseRouteRecord(await readFile(path.join(folder, 'routes', name), 'utf8'));
  } catch {
    return null;
  }
}

/** Parses a record. @throws {Error} if the record belongs to another project, or is invalid. */
export function recordOf(name: string, text: string): RouteRecord {
  const record = parseRouteRecord(text);
  if (`${record.project}.json` !== name) throw new Error(`${name} is the record of ${record.project}`);
  return record;
}

/** Replaces a file by a rename; null deletes it. */
export function writeRouteFile(folder: string, name: string, text: string | null): void {
  replaceRouteFile(folder, name, text);
}

export async function readNote(folder: string): Promise<Note | null> {
  try {
    const { installation, syncedAt } = JSON.parse(
      await readFile(path.join(folder, 'routes', NOTE_FILE), 'utf8'),
    ) as Partial<Note>;
    return typeof installation === 'string' && typeof syncedAt === 'string' ? { installation, syncedAt } : null;
  } catch {
    return null;
  }
}

/**
 * The note is not replaced by a rename, because engines watch the folder for renames, and a partial note is ignored.
 */
export async function writeNote(folder: string, note: Note): Promise<void> {
  await mkdir(path.join(folder, 'routes'), { recursive: true, mode: 0o700 });
  await writeFile(path.join(folder, 'routes', NOTE_FILE), `${JSON.stringify(note)}\n`, { mode: 0o600 });
}
