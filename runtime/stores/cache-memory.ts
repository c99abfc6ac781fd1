// The in-memory store of the Cache API. Its size is limited: the project with the most data loses its least recently
// used entries first, so that no project can evict all others. Opened by the main modules.
import type { CacheRecord, CacheStore } from '../engine/bindings/cache.ts';

interface Entry {
  readonly record: CacheRecord;
  readonly bytes: number;
  readonly expiresAt: number;
}

interface Shelf {
  /** The entries, in the order of last use. */
  readonly entries: Map<string, Entry>;
  bytes: number;
}

/** A cache whose entries can be listed. */
interface MemoryCache extends CacheStore {
  /** The entries of a project whose keys have a prefix; the most recently used entry comes last. */
  list(project: string, prefix: string, limit: number): { key: string; bytes: number; expiresAt: number }[];
}

/** Memory of an entry in addition to its texts and bytes. */
const OVERHEAD_BYTES = 300;

/** @param options.bytesMax maximum size for all projects together */
export function createMemoryCache(options: { readonly bytesMax: number; readonly now?: () => number }): MemoryCache {
  const now = options.now ?? Date.now;
  const shelves = new Map<string, Shelf>();
  let total = 0;

  function remove(project: string, shelf: Shelf, key: string, entry: Entry): void {
    shelf.entries.delete(key);
    shelf.bytes -= entry.bytes;
    total -= entry.bytes;
    if (shelf.entries.size === 0) shelves.delete(project);
  }

  function live(project: string, key: string): { shelf: Shelf; entry: Entry } | null {
    const shelf = shelves.get(project);
    const entry = shelf?.entries.get(key);
    if (shelf === undefined || entry === undefined) return null;
    if (entry.expiresAt > now()) return { shelf, entry };
    remove(project, shelf, key, entry);
    return null;
  }

  function makeRoom(): void {
    while (total > options.bytesMax) {
      let largest: [string, Shelf] | null = null;
      for (const pair of shelves) if (largest === null || pair[1].bytes > largest[1].bytes) largest = pair;
      const [project, shelf] = largest!;
      const [key, entry] = shelf.entries.entries().next().value!;
      remove(project, shelf, key, entry);
    }
  }

  return {
    async get(project, key) {
      const found = live(project, key);
      if (found === null) return null;
      found.shelf.entries.delete(key);
      found.shelf.entries.set(key, found.entry);
      return found.entry.record;
    },
    async set(project, key, record, lifeMs) {
      const found = live(project, key);
      if (found !== null) remove(project, found.shelf, key, found.entry);
      const bytes = OVERHEAD_BYTES + 2 * (key.length + record.head.length) + (record.body?.byteLength ?? 0);
      if (bytes > options.bytesMax) return;
      let shelf = shelves.get(project);
      if (shelf === undefined) shelves.set(project, (shelf = { entries: new Map(), bytes: 0 }));
      shelf.entries.set(key, { record, bytes, expiresAt: now() + lifeMs });
      shelf.bytes += bytes;
      total += bytes;
      makeRoom();
    },
    list(project, prefix, limit) {
      const found: { key: string; bytes: number; expiresAt: number }[] = [];
      for (const [key, { bytes, expiresAt }] of shelves.get(project)?.entries ?? [])
        if (found.length < limit && key.startsWith(prefix) && expiresAt > now()) found.push({ key, bytes, expiresAt });
      return found;
    },
    async delete(project, key) {
      const found = live(project, key);
      if (found === null) return false;
      remove(project, found.shelf, key, found.entry);
      return true;
    },
  };
}
