// TypeScript, JavaScript and npm dependencies -> one ESM file with its source map, through rolldown. Called by build.ts
// and watch.ts. Writes nothing; the same sources give the same bytes wherever they lie.
import { existsSync } from 'node:fs';
import { sep } from 'node:path';
import { rolldown, type InputOptions, type RolldownOutput } from 'rolldown';
import {
  BuildError,
  formatBuildError,
  joinBuildErrors,
  projectPath,
  sourceFile,
  type BundlerLog,
} from '../project/build-error.ts';
import { containmentOf, type Containment, builderFolder } from '../project/containment.ts';
import { fromLog, toBuildError } from './bundler-errors.ts';
import { fileImportsPlugin } from './file-imports.ts';
import { cloudflarePlugin } from './cloudflare-modules.ts';
import { containmentPlugin, isOutside, outsideErrors, placeOf } from './outside-imports.ts';
import { packageStandInsPlugin, type ImpossibleImport, type ImpossibleImports } from './package-stand-ins.ts';
import { checkTsconfigs } from './tsconfig-bounds.ts';
import { nodeCompatPlugin, nodeGlobals, ownPath } from './node-compat.ts';

/** What to bundle. */
export interface BundleOptions {
  /** The project's folder, absolute. Paths in errors and in the source map are relative to it. */
  readonly root: string;
  /** The worker's entry file, absolute. */
  readonly entry: string;
  /** The repository where it is a workspace: its files may be imported too. Default: only the project's. */
  readonly workspace?: string;
  /** Whether `node:*`, `Buffer` and `process` are served; false when the flag is switched off. */
  readonly nodeCompat: boolean;
  /** Bytes that the bundle may have; more is a BuildError. */
  readonly bytesMax?: number;
}

/** A bundled worker. */
export interface Bundle {
  /** ESM without imports; `export default` is the handler object. Ends with `//# sourceMappingURL=worker.js.map`. */
  readonly code: string;
  /** Source map, JSON. */
  readonly map: string;
  /** Every file it was made from, absolute, sorted; those of npm packages too. */
  readonly inputs: readonly string[];
  /** What the author should know: `src/db.ts:1:16: pg cannot run in a worker: ...`. */
  readonly warnings: readonly string[];
}

/**
 * Exports that are handlers, of the module or of its default export (docs/workers.md; `scheduled`, `queue`: existing
 * workers).
 */
export const HANDLER_NAMES: readonly string[] = [
  'fetch',
  'message',
  'queue',
  'timer',
  'scheduled',
  'cron',
  'workflows',
  'email',
  'tail',
];

/** The modules of builder/node/ and builder/shims/. */
const ownModules = new RegExp(`^${builderFolder.replace(/[^\w]/g, '\\$&')}.(?:node|shims).`);

/** How packages are found that run in workers. */
export const workerResolve: NonNullable<InputOptions['resolve']> = {
  // `import` or `require` is added by the way a package is asked for, `default` always.
  conditionNames: ['workerd', 'worker', 'module', 'browser'],
  // Packages without `exports` say by `browser` what works without Node (graphql-yoga's fetch, for one).
  mainFields: ['browser', 'module', 'main'],
  aliasFields: [['browser']],
};

const ENTRY_ID = '\0platform:entry';

/**
 * Bundles a worker.
 *
 * @throws {BuildError} with file, line, column and code frame, for everything that is wrong with the sources.
 * @example
 * const { code, map } = await bundle({ root: '/srv/app', entry: '/srv/app/src/index.ts', nodeCompat: true });
 */
export async function bundle(options: BundleOptions): Promise<Bundle> {
  return bundleInto(options, new Set());
}

/** {@link bundle}, adding every file it reads to `inputs` also when it fails: watch.ts must know what to wait for. */
export async function bundleInto(given: BundleOptions, inputs: Set<string>): Promise<Bundle> {
  if (!existsSync(given.entry))
    throw new BuildError('missing_entry', `The worker's entry ${projectPath(given.root, given.entry)} does not exist`);
  const bounds = containmentOf(given.root, given.workspace);
  // rolldown follows links, and paths are compared.
  const options = { ...given, root: bounds.root };
  const context = { bounds, nodeCompat: options.nodeCompat };
  checkTsconfigs(bounds, options.entry);
  const unresolved: BundlerLog[] = [];
  const impossible: ImpossibleImports = { refused: [], warned: [] };
  let output: RolldownOutput;
  try {
    await using build = await rolldown(inputOptions(options, bounds, unresolved, inputs, impossible));
    output = await build.generate({
      format: 'esm',
      codeSplitting: false,
      sourcemap: true,
      entryFileNames: 'worker.js',
      comments: { legal: true, annotation: false, jsdoc: false },
    });
  } catch (error) {
    if (isOutside(error)) throw await outsideErrors(inputOptions(options, bounds, [], inputs, impossible), bounds);
    throw toBuildError(error, context);
  }
  const [chunk] = output.output;
  const missing = unresolved.filter(
    (log) => log.id === undefined || !isDependency(log.id) || chunk.imports.includes(log.exporter ?? ''),
  );
  if (missing.length > 0) throw joinBuildErrors(missing.map((log) => fromLog(log, context)));
  if (impossible.refused.length > 0) throw joinBuildErrors(errorsOf(impossible.refused, bounds));
  const bytes = Buffer.byteLength(chunk.code);
  if (options.bytesMax !== undefined && bytes > options.bytesMax) {
    throw new BuildError('too_large', `The bundle has ${bytes} bytes; at most ${options.bytesMax} are allowed`);
  }
  return {
    code: chunk.code,
    map: portableMap(String(chunk.map), options.root),
    inputs: [...inputs].sort(),
    warnings: errorsOf(impossible.warned, bounds).map((error) => formatBuildError(error).split('\n')[0]!),
  };
}

/** Imports of packages that cannot run in a worker, with their places, in the order of the files. */
function errorsOf(imports: readonly ImpossibleImport[], bounds: Containment): BuildError[] {
  return imports
    .toSorted((a, b) => (a.importer + a.specifier < b.importer + b.specifier ? -1 : 1))
    .map(
      ({ specifier, importer, message }) =>
        new BuildError('not_supported', message, placeOf(specifier, importer, bounds) ?? {}),
    );
}

function inputOptions(
  options: BundleOptions,
  bounds: Containment,
  unresolved: BundlerLog[],
  inputs: Set<string>,
  impossible: ImpossibleImports,
): InputOptions {
  return {
    cwd: options.root,
    input: ENTRY_ID,
    platform: 'neutral',
    resolve: workerResolve,
    moduleTypes: { '.txt': 'text', '.sql': 'text', '.html': 'text' },
    // The comments of attachDebugInfo would say where the platform is installed.
    experimental: { importAttributes: true, attachDebugInfo: 'none' },
    transform: {
      target: 'es2024',
      define: {
        'process.env.NODE_ENV': '"production"',
        'import.meta.url': '"file:///worker.js"',
        ...(options.nodeCompat ? { global: 'globalThis' } : {}),
      },
      ...(options.nodeCompat ? { inject: nodeGlobals() } : {}),
    },
    // What stands in for Node is dropped where nothing of it is used, whatever it does while it loads.
    treeshake: { moduleSideEffects: [{ test: ownModules, sideEffects: false }] },
    onLog(_level, log) {
      if (log.code === 'UNRESOLVED_IMPORT') unresolved.push(log);
    },
    plugins: [
      containmentPlugin(bounds),
      entryPlugin(options.entry, inputs),
      cloudflarePlugin(),
      packageStandInsPlugin(impossible, options.nodeCompat),
      nodeCompatPlugin(options.nodeCompat),
      fileImportsPlugin(options.root),
    ],
  };
}

/** The virtual module around the user's entry, and the record of what was read. */
function entryPlugin(
  entry: string,
  inputs: Set<string>,
): NonNullable<Extract<InputOptions['plugins'], { name: string }>> {
  return {
    name: 'platform:entry',
    resolveId: { filter: { id: /^\0platform:entry$/ }, handler: () => ENTRY_ID },
    load: {
      filter: { id: /^\0platform:entry$/ },
      handler: () =>
        `import * as worker from ${JSON.stringify(entry)};
import { toHandler } from ${JSON.stringify(ownPath('shims/handler'))};
export default toHandler(worker.default, { ${HANDLER_NAMES.map((name) => `${name}: worker.${name}`).join(', ')} });`,
    },
    buildEnd() {
      for (const id of this.getModuleIds()) {
        if (!id.startsWith('\0') && !id.startsWith(builderFolder + sep)) inputs.add(sourceFile(id));
      }
    },
  };
}

function isDependency(id: string): boolean {
  return id.includes(`${sep}node_modules${sep}`);
}

/**
 * The map with paths that mean the same everywhere: `src/index.ts`, `node_modules/hono/...`, `platform:node/buffer.ts`.
 * The text of dependencies is left out; the project's own stays, for debuggers.
 */
function portableMap(json: string, root: string): string {
  const map = JSON.parse(json) as { file?: string; sources: string[]; sourcesContent?: (string | null)[] };
  // rolldown writes sources relative to the output folder, `dist` in the root.
  const paths = map.sources.map((source) =>
    portablePath(source.startsWith('\0') ? source : `${root}/dist/${sourceFile(source)}`, root),
  );
  const contents = map.sourcesContent?.map((content, index) =>
    /^(?:platform:|node_modules\/)/.test(paths[index] ?? '') ? null : content,
  );
  return JSON.stringify({ ...map, sources: paths, ...(contents ? { sourcesContent: contents } : {}) });
}

function portablePath(path: string, root: string): string {
  if (path.includes('\0')) return `platform:${path.slice(path.lastIndexOf('\0') + 1).replace(/^platform:/, '')}`;
  const own = projectPath(builderFolder, path);
  if (!own.startsWith('..')) return `platform:${own}`;
  const inProject = projectPath(root, path);
  const dependency = inProject.lastIndexOf('node_modules/');
  return dependency === -1 ? inProject : inProject.slice(dependency);
}
