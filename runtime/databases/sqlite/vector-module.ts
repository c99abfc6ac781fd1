// Loads sqlite-vec, which brings the virtual tables `vec0` and the functions `vec_*`, into a connection before a tenant
// uses it. Called by connection-settings.ts. Machines for which no build exists run all other SQL.
import { createRequire } from 'node:module';
import type { DatabaseSync } from 'node:sqlite';

const endings: Readonly<Record<string, string>> = { darwin: 'dylib', linux: 'so' };

/**
 * Path of the library that sqlite-vec ships for a system.
 *
 * @returns null if sqlite-vec ships none, or its package is not installed.
 */
export function vectorLibrary(platform: string = process.platform, architecture: string = process.arch): string | null {
  try {
    const name = `sqlite-vec-${platform}-${architecture}/vec0.${endings[platform] ?? 'so'}`;
    return createRequire(import.meta.url).resolve(name);
  } catch {
    return null;
  }
}

/** The path for this machine; undefined before the first search. */
let found: string | null | undefined;

/**
 * Loads the library; after this, no statement can load another one.
 *
 * @param library null: none. @returns false when there is no library, or when this machine cannot load the library.
 */
export function loadVectors(db: DatabaseSync, library?: string | null): boolean {
  found ??= vectorLibrary();
  const file = library === undefined ? found : library;
  try {
    if (file !== null) db.loadExtension(file);
    return file !== null;
  } catch {
    // Built for another C library.
    return false;
  } finally {
    db.enableLoadExtension(false);
  }
}
