// Computes from a process's imports how many modules it has loaded, and which single imports load many of them. Used by
// loaded.bench.ts.
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Importer ('' for the process's own script) and imported, as URLs. */
export type Edge = readonly [importer: string, imported: string];

/** An import without which some modules would not be loaded. */
export interface Bringer {
  readonly module: string;
  readonly importers: readonly string[];
  /** Modules that only it brings, with itself. */
  readonly modules: number;
  readonly kilobytes: number;
}

interface Loaded {
  readonly modules: number;
  /** Of these, modules of packages. */
  readonly ofPackages: number;
  readonly kilobytes: number;
  /** The largest first. */
  readonly bringers: readonly Bringer[];
}

/** Bringers of nearly all modules say nothing: the script brings all of them. */
const SHARE_MAX = 0.5;
/** One inside another, which brings nearly the same, is left out. */
const SAME_SHARE = 0.7;

/** @param modulesMin bringers of fewer modules are left out. */
export function loadedBy(edges: readonly Edge[], modulesMin: number): Loaded {
  const imports = new Map<string, Set<string>>();
  const importers = new Map<string, Set<string>>();
  for (const [from, to] of edges) {
    entry(imports, from).add(to);
    entry(importers, to).add(from);
  }
  const roots = [...imports.keys()].filter((url) => !importers.has(url));
  const all = reached(imports, roots, null);
  const files = [...all].filter((url) => url.startsWith('file:'));
  const found = files.flatMap((url) => {
    const rest = reached(imports, roots, url);
    const lost = files.filter((file) => !rest.has(file));
    return lost.length < modulesMin || lost.length > files.length * SHARE_MAX ? [] : [{ url, lost }];
  });
  const bringers = found.filter(
    ({ url, lost }) =>
      !found.some(
        (other) => other.url !== url && other.lost.includes(url) && lost.length >= other.lost.length * SAME_SHARE,
      ),
  );
  return {
    modules: files.length,
    ofPackages: files.filter((url) => url.includes('/node_modules/')).length,
    kilobytes: kilobytesOf(files),
    bringers: bringers
      .map(({ url, lost }) => ({
        module: url,
        importers: [...(importers.get(url) ?? [])],
        modules: lost.length,
        kilobytes: kilobytesOf(lost),
      }))
      .toSorted((one, other) => other.modules - one.modules),
  };
}

function entry(map: Map<string, Set<string>>, key: string): Set<string> {
  const known = map.get(key) ?? new Set();
  map.set(key, known);
  return known;
}

function reached(imports: ReadonlyMap<string, Set<string>>, roots: readonly string[], without: string | null) {
  const seen = new Set<string>();
  const left = [...roots];
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    if (at === without || seen.has(at)) continue;
    seen.add(at);
    left.push(...(imports.get(at) ?? []));
  }
  return seen;
}

function kilobytesOf(urls: readonly string[]): number {
  const sizes = urls.map((url) => statSync(fileURLToPath(url), { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0) / 1024;
}
