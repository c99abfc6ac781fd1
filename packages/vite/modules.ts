// The modules of an environment that a worker consists of, as Vite's dev server transforms them: those that its entry
// imports, directly or not. Only what changed since the last time is asked for again.
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { DevEnvironment, TransformResult } from 'vite';

/** A module as it was transformed. */
export interface WorkerModule {
  /** What others import it by. */
  readonly url: string;
  readonly id: string;
  readonly file: string | null;
  readonly result: TransformResult;
  /** Names of modules of the platform that it imports. */
  readonly builtins: readonly string[];
  /** URLs of its own modules that it imports. */
  readonly imports: readonly string[];
  /** URLs that it imports where its code comes to it. */
  readonly laterImports: readonly string[];
}

/** The modules of one environment. */
export interface ModuleSet {
  /**
   * Imported by a name that only the running code knew, so that others do not lead to it.
   *
   * @returns whether it is one of them now: what is no file waits for a second time, since its name may be one that is
   *   made anew each time (SolidStart puts the time into it).
   */
  add(url: string): boolean;
  /** All of them, by URL. @throws what is wrong with one of them. */
  collect(): Promise<ReadonlyMap<string, WorkerModule>>;
  /** Whether Vite has dropped one since. */
  isStale(): boolean;
}

/** Names that are remembered for a second time. */
const ASKED_ONCE_MAX = 1000;
/** A query that Vite adds where a module was asked for again. */
const TIMES_MAX = 5;

/** @param entry URL of the module that the worker starts at; null where others say what they want. */
export function createModuleSet(environment: DevEnvironment, entry: string | null): ModuleSet {
  const roots = new Set<string>(entry === null ? [] : [entry]);
  /** Asked for by running code: it may have gone. */
  const asked = new Set<string>();
  /** Asked for once, and no file. */
  const askedOnce = new Set<string>();
  /** Ids of modules whose importers were dropped. */
  const dropped = new Set<string>();
  let known = new Map<string, WorkerModule>();
  /** One that others load has no modules until they do. */
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
    if (result === null) throw new Error(`Vite gives no code for ${url}`);
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
   * Whether packages are there twice: as they lie, for what was transformed before Vite bundled them, and bundled.
   * Modules that import the former are dropped, once: a package may import its own files past the bundled ones.
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
        // The code that asks for it gets the error, when it does.
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
      // Modules may be dropped while others are still transformed: a dependency was optimized, say.
      for (let time = 1; ; time++) {
        known = await collectOnce();
        isCollected = true;
        if (time === TIMES_MAX || (!dropTwins() && [...known.values()].every(isCurrent))) return known;
      }
    },
    isStale: () => !isCollected || ![...known.values()].every(isCurrent),
  };
}

/** The map of a module as the engine takes it: its sources relative to the project. */
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

/** Where a URL of a file leads; no file is there for the others. */
function fileOf(url: string, root: string): string {
  const [name = ''] = url.split('?');
  return name.startsWith('/@fs/') ? name.slice('/@fs'.length) : path.join(root, name);
}
