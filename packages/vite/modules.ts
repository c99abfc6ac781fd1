// The modules of a worker in an environment, as transformed by Vite's dev server: those that its entry imports,
// directly or indirectly. Only changed modules are requested again.
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { DevEnvironment, TransformResult } from 'vite';

/** A transformed module. */
export interface WorkerModule {
  /** URL by which other modules import this module. */
  readonly url: string;
  readonly id: string;
  readonly file: string | null;
  readonly result: TransformResult;
  /** Modules of the platform that it imports. */
  readonly builtins: readonly string[];
  /** URLs of modules of the project that it imports. */
  readonly imports: readonly string[];
  /** URLs of dynamic imports. */
  readonly laterImports: readonly string[];
}

/** The modules of one environment. */
export interface ModuleSet {
  /**
   * Adds a module that running code imported by a computed name, so that no import of another module names it.
   *
   * @returns whether the module is now part of the worker. Names that are not files are added when they are requested a
   * second time, because they may be different each time (SolidStart puts the time into them).
   */
  add(url: string): boolean;
  /** All modules of the worker, by URL. @throws the error of a module. */
  collect(): Promise<ReadonlyMap<string, WorkerModule>>;
  /** Whether Vite has invalidated a module since the last collection. */
  isStale(): boolean;
}

/** Limit for remembered first requests. */
const ASKED_ONCE_MAX = 1000;
/** Vite adds a query to modules that are requested again. */
const TIMES_MAX = 5;

/** @param entry URL of the worker's entry module; null if others load its modules. */
export function createModuleSet(environment: DevEnvironment, entry: string | null): ModuleSet {
  const roots = new Set<string>(entry === null ? [] : [entry]);
  /** Modules that running code requested; their importers may have been removed since. */
  const asked = new Set<string>();
  /** Modules that are not files and were requested once. */
  const askedOnce = new Set<string>();
  /** Ids of modules whose importers were invalidated. */
  const dropped = new Set<string>();
  let known = new Map<string, WorkerModule>();
  /** Whether modules were collected: until then, a module that others import is not loaded. */
  let isCollected = false;

  const isBuiltin = (url: string): boolean =>
    url.startsWith('data:') ||
    environment.config.resolve.builtins.some((name) => (typeof name === 'string' ? name === url : name.test(url)));

  async function transform(url: string): Promise<WorkerModule> {
    const before = known.get(url);
    if (before !== undefined && isCurrent(before)) return before;
    const bare = url.startsWith('/@id/') ? url.slice('/@id/'.length).replace('__x00__', '\0') : url;
    const node = await environment.moduleGraph.ensureEntryFromUrl(bare);
    const result = await environment.transformRequest(bare);
    if (result === null) throw new Error(`Vite returned no code for ${url}`);
    const imports = result.deps ?? [];
    const laterImports = result.dynamicDeps ?? [];
    return {
      url,
      id: node.id ?? url,
      file: node.file,
      result,
      builtins: [...imports, ...laterImports].filter(isBuiltin),
      imports: imports.filter((name) => !isBuiltin(name)),
      laterImports: laterImports.filter((name) => !isBuiltin(name)),
    };
  }

  function isCurrent({ id, result }: WorkerModule): boolean {
    return environment.moduleGraph.getModuleById(id)?.transformResult === result;
  }

  /**
   * Whether packages are included twice: unbundled, for modules transformed before Vite bundled them, and bundled.
   * Modules that import unbundled packages are invalidated once, because a package may import its own files and not the
   * bundled files.
   */
  function dropTwins(): boolean {
    const { optimized = {}, discovered = {} } = environment.depsOptimizer?.metadata ?? {};
    const bundled = new Set([...Object.values(optimized), ...Object.values(discovered)].map(({ src }) => src));
    const twins = [...known.values()].filter(({ id, file }) => file !== null && bundled.has(file) && !dropped.has(id));
    for (const { id } of twins) {
      dropped.add(id);
      for (const importer of environment.moduleGraph.getModuleById(id)?.importers ?? [])
        environment.moduleGraph.invalidateModule(importer);
    }
    return twins.length > 0;
  }

  async function collectOnce(): Promise<Map<string, WorkerModule>> {
    const found = new Map<string, WorkerModule>();
    const seen = new Set<string>();
    const visit = async (url: string, isNeeded: boolean): Promise<void> => {
      if (seen.has(url)) return;
      seen.add(url);
      let module: WorkerModule;
      try {
        module = await transform(url);
      } catch (error) {
        // The code that imports the module dynamically gets the error at run time.
        if (!isNeeded) return;
        throw error;
      }
      found.set(url, module);
      await Promise.all([
        ...module.imports.map((name) => visit(name, isNeeded)),
        ...module.laterImports.map((name) => visit(name, false)),
      ]);
    };
    await Promise.all([...[...roots].map((url) => visit(url, true)), ...[...asked].map((url) => visit(url, false))]);
    return found;
  }

  return {
    add(url) {
      if (!askedOnce.delete(url) && !existsSync(fileOf(url, environment.config.root))) {
        if (askedOnce.size === ASKED_ONCE_MAX) askedOnce.clear();
        askedOnce.add(url);
        return false;
      }
      asked.add(url);
      return true;
    },
    async collect() {
      // Modules may be invalidated while others are transformed, for example when a dependency was optimized.
      for (let time = 1; ; time++) {
        known = await collectOnce();
        isCollected = true;
        if (time === TIMES_MAX || (!dropTwins() && [...known.values()].every(isCurrent))) return known;
      }
    },
    isStale: () => !isCollected || ![...known.values()].every(isCurrent),
  };
}

/** The source map of a module for the engine: its sources relative to the project. */
export function portableMap({ file, id, result }: WorkerModule, folder: string): string | null {
  const { map } = result;
  if (map === null || !('sources' in map)) return null;
  const base = path.dirname(file ?? id);
  const sources = map.sources.map((source) =>
    source === null ? '' : path.relative(folder, path.resolve(base, source)).split(path.sep).join('/'),
  );
  return JSON.stringify({
    version: 3,
    sources,
    names: map.names,
    mappings: map.mappings,
    sourcesContent: map.sourcesContent,
  });
}

/** The file of a URL; other URLs give a path that does not exist. */
function fileOf(url: string, root: string): string {
  const [name = ''] = url.split('?');
  return name.startsWith('/@fs/') ? name.slice('/@fs'.length) : path.join(root, name);
}
