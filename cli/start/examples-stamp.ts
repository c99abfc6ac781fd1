// Whether a start must build the examples again: a hash of their files and the builder's, stored in the data folder
// when the examples are published. The hash covers names, sizes and times of files, not their content.
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readRoute } from '#artifacts/route-records.ts';

/** Stored next to the routes. */
const STAMP_FILE = 'examples.json';
const [FILES_MAX, CHARS_MAX] = [20_000, 10_000];

/**
 * The hash of folders and files; null if there are too many files: then the examples are always built.
 *
 * @example stampOf([path.join(packageFolder, 'examples'), path.join(packageFolder, 'package-lock.json')])
 */
export function stampOf(sources: readonly string[]): string | null {
  const hash = createHash('sha256').update(process.version);
  let files = 0;
  const add = (file: string): boolean => {
    const status = lstatSync(file, { throwIfNoEntry: false });
    if (status?.isDirectory() === true)
      return readdirSync(file)
        .filter((name) => name !== 'node_modules')
        .toSorted()
        .every((name) => add(path.join(file, name)));
    hash.update(`\0${file}\0${status?.size ?? -1}\0${status?.mtimeMs ?? -1}`);
    return ++files <= FILES_MAX;
  };
  return sources.every(add) ? hash.digest('hex') : null;
}

/**
 * Names of the examples that an earlier start published from the same files; null if they changed or one was deleted.
 */
export function publishedBefore(dataFolder: string, stamp: string | null): readonly string[] | null {
  if (stamp === null) return null;
  try {
    const text = readFileSync(path.join(dataFolder, STAMP_FILE), 'utf8');
    if (text.length > CHARS_MAX) return null;
    const kept = JSON.parse(text) as { readonly stamp?: unknown; readonly names?: unknown };
    if (kept.stamp !== stamp || !Array.isArray(kept.names)) return null;
    return kept.names.every((name) => typeof name === 'string' && isServed(dataFolder, name)) ? kept.names : null;
  } catch {
    // If the stored stamp is missing or damaged, the examples are built again.
    return null;
  }
}

/** @param names the names of all examples. */
export function keepPublished(dataFolder: string, stamp: string | null, names: readonly string[]): void {
  if (stamp !== null)
    writeFileSync(path.join(dataFolder, STAMP_FILE), `${JSON.stringify({ stamp, names })}\n`, { mode: 0o600 });
}

function isServed(dataFolder: string, name: string): boolean {
  const record = readRoute(dataFolder, name);
  const production = record?.deployments[record.production ?? ''];
  return (
    production !== undefined && existsSync(path.join(dataFolder, 'artifacts', production.artifact, 'manifest.json'))
  );
}
