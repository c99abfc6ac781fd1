// The import graph of our modules: imports between modules and folders, unused exports, import cycles. Pure functions
// for the tidy test and the figures. Not packed.
import path from 'node:path';
import { readModule, type ModuleRecord } from './imports.ts';
import { isOwnModule, type Sources } from './sources.ts';

/** Modules of a checkout, by path. */
export type Modules = ReadonlyMap<string, ModuleRecord>;

/** An import between two of our modules. */
export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly kind: 'static' | 'dynamic' | 'type';
  /** Imported names; `*` for all. */
  readonly names: readonly string[];
}

/** Resolves a specifier to a path; null for packages and Node modules. */
export function resolveOwn(file: string, specifier: string): string | null {
  if (specifier.startsWith('#')) return specifier.slice(1);
  if (specifier.startsWith('.')) return path.posix.join(path.posix.dirname(file), specifier);
  return null;
}

/**
 * All own modules of a checkout, without declarations.
 *
 * @throws {SyntaxError} that names the file, if a module does not parse.
 */
export function readModules(sources: Sources): Modules {
  const modules = new Map<string, ModuleRecord>();
  for (const [file, text] of Object.entries(sources)) {
    if (isOwnModule(file) && !/\.d\.m?ts$/.test(file)) modules.set(file, readModule(file, text));
  }
  return modules;
}

/** All imports between our modules. */
export function arrowsOf(modules: Modules): Arrow[] {
  const arrows: Arrow[] = [];
  for (const [from, { imports }] of modules) {
    for (const { specifier, kind, typeOnly, names } of imports) {
      const to = resolveOwn(from, specifier);
      if (to !== null) arrows.push({ from, to, kind: typeOnly ? 'type' : kind, names });
    }
  }
  return arrows;
}

/** An export and its importers. */
interface ExportUse {
  readonly file: string;
  readonly name: string;
  /** Modules that import it. */
  readonly importers: readonly string[];
}

/**
 * Exports of imported modules. Modules without importers are entry points and skipped; `isOpen` marks modules with
 * public exports, such as those in the `exports` of a package.
 */
export function exportUses(modules: Modules, isOpen: (file: string) => boolean): ExportUse[] {
  const importers = new Map<string, Map<string, string[]>>();
  const computed: { folder: string; name: string; file: string }[] = [];
  for (const [file, { namesOfComputedImports }] of modules) {
    for (const name of namesOfComputedImports) computed.push({ folder: `${path.posix.dirname(file)}/`, name, file });
  }
  for (const { from, to, names } of arrowsOf(modules)) {
    const byName = importers.get(to) ?? new Map<string, string[]>();
    importers.set(to, byName);
    for (const name of names) byName.set(name, [...(byName.get(name) ?? []), from]);
  }
  const uses: ExportUse[] = [];
  for (const [file, { exports }] of modules) {
    const byName = importers.get(file);
    if (byName === undefined || isOpen(file)) continue;
    for (const name of exports) {
      const byPath = computed.filter((one) => one.name === name && file.startsWith(one.folder)).map((one) => one.file);
      uses.push({
        file,
        name,
        importers: [...new Set([...(byName.get(name) ?? []), ...(byName.get('*') ?? []), ...byPath])],
      });
    }
  }
  return uses;
}

/**
 * Modules whose exports no import names: workers or the guest load them by names of Node, of Cloudflare or of globals,
 * or they are hooks of Node.
 */
const loadedByName =
  /^builder\/(?:node|shims)\/|^builder\/command\/adapter-stand-ins\.mjs$|\/guest\/(?:lazy|bindings|events)\/[^/]+$/;

/** Returns whether a module has exports for others: packages publish it, or it is loaded by a name. */
export function openModules(sources: Sources): (file: string) => boolean {
  const published = new Set<string>();
  for (const [file, text] of Object.entries(sources)) {
    if (path.posix.basename(file) !== 'package.json') continue;
    const collect = (value: unknown): void => {
      if (typeof value === 'string') published.add(path.posix.join(path.posix.dirname(file), value));
      else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect);
    };
    collect((JSON.parse(text) as { exports?: unknown }).exports);
  }
  const folders = [...published].filter((place) => place.endsWith('/*')).map((place) => place.slice(0, -1));
  return (file) => published.has(file) || folders.some((folder) => file.startsWith(folder)) || loadedByName.test(file);
}

/** Pairs of places with imports, as `from -> to`, sorted. */
export function arrowsBetween(arrows: Iterable<Arrow>, placeOf: (file: string) => string): string[] {
  const pairs = new Set<string>();
  for (const { from, to } of arrows) {
    const [here, there] = [placeOf(from), placeOf(to)];
    if (here !== there) pairs.add(`${here} -> ${there}`);
  }
  return [...pairs].sort();
}

/** Pairs of folders whose modules import each other, without those of test/ and bench/, as `one -> other`, sorted. */
export function mutualFolders(arrows: readonly Arrow[]): string[] {
  const shipped = arrows.filter(({ from }) => !/^(?:test|bench)\//.test(from));
  const pairs = new Set(arrowsBetween(shipped, path.posix.dirname));
  return [...pairs].filter((pair) => {
    const [from, to] = pair.split(' -> ') as [string, string];
    return from < to && pairs.has(`${to} -> ${from}`);
  });
}

/**
 * Import cycles: for each group, the shortest cycle through its alphabetically first module, which is at both ends.
 */
export function importCycles(arrows: Iterable<Pick<Arrow, 'from' | 'to'>>): string[][] {
  const targets = new Map<string, Set<string>>();
  for (const { from, to } of arrows) targets.set(from, (targets.get(from) ?? new Set()).add(to));
  const cycles: string[][] = [];
  for (const group of circles(targets)) {
    const first = group.toSorted()[0]!;
    cycles.push(shortestCircle(first, targets));
  }
  return cycles.sort((a, b) => (a[0]! < b[0]! ? -1 : 1));
}

/** Strongly connected components with a cycle (Tarjan). */
function circles(targets: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const found: string[][] = [];
  const places = new Map<string, { index: number; low: number; open: boolean }>();
  const open: string[] = [];
  const enter = (file: string): { index: number; low: number; open: boolean } => {
    const place = { index: places.size, low: places.size, open: true };
    places.set(file, place);
    open.push(file);
    for (const target of targets.get(file) ?? []) {
      const known = places.get(target);
      if (known === undefined) place.low = Math.min(place.low, enter(target).low);
      else if (known.open) place.low = Math.min(place.low, known.index);
    }
    if (place.low === place.index) {
      const group = open.splice(open.indexOf(file));
      for (const member of group) places.get(member)!.open = false;
      if (group.length > 1 || targets.get(file)?.has(file) === true) found.push(group);
    }
    return place;
  };
  for (const file of targets.keys()) if (!places.has(file)) enter(file);
  return found;
}

function shortestCircle(first: string, targets: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const trails: string[][] = [[first]];
  const seen = new Set<string>();
  for (const trail of trails) {
    for (const target of targets.get(trail.at(-1)!) ?? []) {
      if (target === first) return [...trail, first];
      if (seen.has(target)) continue;
      seen.add(target);
      trails.push([...trail, target]);
    }
  }
  return [first];
}
