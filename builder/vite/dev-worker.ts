// Combines modules transformed by Vite's dev server into one script for an isolate, with a source map to the original
// sources. Called by `platform vite engine` for each change: only changed modules are wrapped again.
import { HANDLER_NAMES, withClassesCode } from '../bundle/bundle.ts';
import { baseGlobals, BASE_NAME, bundleBase } from './dev-base.ts';

/** A module of a Vite environment. */
export interface DevModule {
  /** The URL by which other modules import it. */
  readonly url: string;
  readonly id: string;
  /** Null for a virtual module. */
  readonly file: string | null;
  /** Code in the format of Vite's module runner. */
  readonly code: string;
  /** Source map as JSON, or null. */
  readonly map: string | null;
}

/** Input of a dev worker. */
export interface DevWorkerOptions {
  /** The file of `vite/module-runner` in the project's own Vite. */
  readonly runnerFile: string;
  /** URL at which the isolate requests modules that are not included. */
  readonly channel: string;
  /** The worker's Vite environment, and the URL of its entry in that environment. */
  readonly entry: { readonly environment: string; readonly url: string };
  /** Imported modules of the platform. */
  readonly builtins: readonly string[];
  readonly environments: ReadonlyMap<string, readonly DevModule[]>;
  /** Workflows that are classes: resource name -> exported class. */
  readonly workflowClasses: Readonly<Record<string, string>>;
}

/** A script for an isolate. */
export interface DevWorker {
  readonly code: string;
  /** Source map of the script as JSON, created on demand. */
  readonly map: () => string;
}

/** A module in the script. */
interface Wrapped {
  readonly text: string;
  /** Number of lines of `text`. */
  readonly lines: number;
  /** Node globals that the text uses. */
  readonly globals: readonly string[];
}

const PARAMETERS =
  '__vite_ssr_exports__, __vite_ssr_import_meta__, __vite_ssr_import__, __vite_ssr_dynamic_import__, __vite_ssr_exportAll__, __vite_ssr_exportName__';
/** Lines that wrapping adds before a module's first line. */
const LINES_BEFORE = 1;

/** @returns a function that creates scripts, caching modules that did not change. */
export function createDevWorkers(): (options: DevWorkerOptions) => Promise<DevWorker> {
  const wrapped = new WeakMap<DevModule, Wrapped>();
  const bases = new Map<string, Promise<string>>();

  function wrap(module: DevModule): Wrapped {
    let known = wrapped.get(module);
    if (known === undefined) wrapped.set(module, (known = wrapModule(module)));
    return known;
  }

  function baseOf(options: DevWorkerOptions, globals: readonly string[]): Promise<string> {
    const key = JSON.stringify([options.runnerFile, options.builtins, globals]);
    let base = bases.get(key);
    if (base === undefined) {
      base = bundleBase({ runnerFile: options.runnerFile, builtins: options.builtins, globals });
      base.catch(() => bases.delete(key));
      bases.set(key, base);
    }
    return base;
  }

  return async (options) => {
    const { environments, entry, channel } = options;
    const globals = new Set<string>();
    for (const modules of environments.values())
      for (const module of modules) for (const name of wrap(module).globals) globals.add(name);
    const named = baseGlobals.filter((name) => globals.has(name));
    const base = (await baseOf(options, named)).trimEnd();
    const parts: string[] = [];
    const sections: { readonly line: number; readonly map: string }[] = [];
    let line = 0;
    const add = (text: string, lines = countLines(text)): void => {
      parts.push(text);
      line += lines;
    };
    add(base);
    if (named.length > 0) add(`const { ${named.join(', ')} } = ${BASE_NAME};`);
    add('const global = globalThis;');
    add(`const __platform_import = ${BASE_NAME}.createRunners(${BASE_NAME}.ModuleRunner, {`);
    for (const [name, modules] of environments) {
      add(`${JSON.stringify(name)}: { __proto__: null,`);
      for (const module of modules) {
        const { text, lines } = wrap(module);
        if (module.map !== null) sections.push({ line: line + LINES_BEFORE, map: module.map });
        add(text, lines);
      }
      add('},');
    }
    add(`}, ${JSON.stringify(channel)}, ${BASE_NAME}.builtins);`);
    add('globalThis.__VITE_ENVIRONMENT_RUNNER_IMPORT__ = __platform_import;');
    add(
      `const __platform_worker = await __platform_import(${JSON.stringify(entry.environment)}, ${JSON.stringify(entry.url)});`,
    );
    const handlers = HANDLER_NAMES.map((name) => `${name}: __platform_worker.${name}`).join(', ');
    const handler = `${BASE_NAME}.toHandler(__platform_worker.default, { ${handlers} }, __platform_worker)`;
    const adding = `${BASE_NAME}.withWorkflowClasses`;
    add(`export default ${withClassesCode(adding, handler, '__platform_worker', options.workflowClasses)};`);
    return { code: parts.join('\n'), map: () => mapOf(sections) };
  };
}

function wrapModule({ url, id, file, code }: DevModule): Wrapped {
  // Prevents V8 from using a module's sourceURL for the whole script.
  const own = code.replace(/\n\/\/# source(?:URL|Mapp?ingURL|MappingSource)=[^\n]*/g, '').trimEnd();
  const text = `${JSON.stringify(url)}: [${JSON.stringify(id)}, ${JSON.stringify(file)}, async function (${PARAMETERS}) {\n${own}\n}],`;
  const globals = baseGlobals.filter((name) => new RegExp(`(?<![.\\w$])${name}\\b`).test(own));
  return { text, lines: countLines(text), globals };
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/** An index map: each module's own map, from its first line. */
function mapOf(sections: readonly { readonly line: number; readonly map: string }[]): string {
  return JSON.stringify({
    version: 3,
    file: 'worker.js',
    sections: sections.map(({ line, map }) => ({ offset: { line, column: 0 }, map: JSON.parse(map) as unknown })),
  });
}
