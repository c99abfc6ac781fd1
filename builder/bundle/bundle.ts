// Bundles TypeScript, JavaScript and npm dependencies to one ESM file with a source map, using rolldown. Called by
// build.ts and watch.ts. The bundler writes no files, and its output is reproducible, independent of the project's
// location.
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
import { ENTRY_ID, fromLog, toBuildError } from './bundler-errors.ts';
import { fileImportsPlugin } from './file-imports.ts';
import { cloudflarePlugin } from './cloudflare-modules.ts';
import { containmentPlugin, isOutside, outsideErrors, placeOf } from './outside-imports.ts';
import { packageStandInsPlugin, type ImpossibleImport, type ImpossibleImports } from './package-stand-ins.ts';
import { checkTsconfigs } from './tsconfig-containment.ts';
import { nodeCompatPlugin, nodeGlobals, ownPath } from './node-compat.ts';

/** What to bundle. */
export interface BundleOptions {
  /** The project's folder, absolute. Paths in errors and in the source map are relative to this folder. */
  readonly root: string;
  /** The worker's entry file, absolute. */
  readonly entry: string;
  /**
   * The repository, if it is a workspace, whose files may be imported too; by default, only files of the project's
   * folder may be imported.
   */
  readonly workspace?: string;
  /** Whether `node:*`, `Buffer` and `process` are available; false if the flag is disabled. */
  readonly nodeCompat: boolean;
  /** Workflows that are classes: resource name -> exported class. */
  readonly workflowClasses?: Readonly<Record<string, string>>;
  /** Maximum bytes of the bundle; more is a BuildError. */
  readonly bytesMax?: number;
}

/** A bundled worker. */
export interface Bundle {
  /** ESM without imports; `export default` is the handler object. Ends with `//# sourceMappingURL=worker.js.map`. */
  readonly code: string;
  /** Source map, JSON. */
  readonly map: string;
  /** Every source file, absolute and sorted, including npm packages. */
  readonly inputs: readonly string[];
  /** Warnings for the author: `src/db.ts:1:16: pg cannot run in a worker: ...`. */
  readonly warnings: readonly string[];
}

/**
 * Exports that are handlers, of the module or of its default export (docs/workers.md; `scheduled` and `queue` for
 * existing workers).
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

/**
 * Code that adds the classes of workflows to a handler object (shims/workflow-classes.ts).
 *
 * @param add expression of the function
 * @param handler expression of the handler object
 * @param module expression of the module's namespace
 */
export function withClassesCode(
  add: string,
  handler: string,
  module: string,
  workflowClasses: Readonly<Record<string, string>>,
): string {
  const classes = Object.entries(workflowClasses).map(
    ([resource, name]) => `[${JSON.stringify(resource)}, ${JSON.stringify(name)}, ${module}.${name}]`,
  );
  return classes.length === 0
    ? handler
    : `${add}(${handler}, ${JSON.stringify(HANDLER_NAMES)}, [${classes.join(', ')}])`;
}

/** The modules of builder/node/ and builder/shims/. */
const ownModules = new RegExp(`^${builderFolder.replace(/[^\w]/g, '\\$&')}.(?:node|shims).`);

/** Export conditions for packages in workers. */
export const workerResolve: NonNullable<InputOptions['resolve']> = {
  // rolldown adds `import` or `require` depending on the kind of import, and always `default`.
  conditionNames: ['workerd', 'worker', 'module', 'browser'],
  // Packages without `exports` use `browser` for code that works without Node (such as graphql-yoga's fetch).
  mainFields: ['browser', 'module', 'main'],
  aliasFields: [['browser']],
};

/**
 * Bundles a worker.
 *
 * @throws {BuildError} with file, line, column and code frame, for every problem of the sources.
 * @example
 * const { code, map } = await bundle({ root: '/srv/app', entry: '/srv/app/src/index.ts', nodeCompat: true });
 */
export async function bundle(options: BundleOptions): Promise<Bundle> {
  return bundleInto(options, new Set());
}

/**
 * Like {@link bundle}, but adds every file that it reads to `inputs`, even on failure, since watch.ts must know which
 * files to watch.
 */
export async function bundleInto(given: BundleOptions, inputs: Set<string>): Promise<Bundle> {
  if (!existsSync(given.entry))
    throw new BuildError('missing_entry', `The worker's entry ${projectPath(given.root, given.entry)} does not exist`);
  const containment = containmentOf(given.root, given.workspace);
  // Links in the path are resolved, because rolldown resolves links and the paths are compared.
  const options = { ...given, root: containment.root };
  const context = { containment, nodeCompat: options.nodeCompat };
  checkTsconfigs(containment, options.entry);
  const unresolved: BundlerLog[] = [];
  const impossible: ImpossibleImports = { refused: [], warned: [] };
  let output: RolldownOutput;
  try {
    await using build = await rolldown(inputOptions(options, containment, unresolved, inputs, impossible));
    output = await build.generate({
      format: 'esm',
      codeSplitting: false,
      sourcemap: true,
      entryFileNames: 'worker.js',
      comments: { legal: true, annotation: false, jsdoc: false },
    });
  } catch (error) {
    if (isOutside(error))
      throw await outsideErrors(inputOptions(options, containment, [], inputs, impossible), containment);
    throw toBuildError(error, context);
  }
  const [chunk] = output.output;
  const missing = unresolved.filter(
    (log) => log.id === undefined || !isDependency(log.id) || chunk.imports.includes(log.exporter ?? ''),
  );
  if (missing.length > 0) throw joinBuildErrors(missing.map((log) => fromLog(log, context)));
  if (impossible.refused.length > 0) throw joinBuildErrors(errorsOf(impossible.refused, containment));
  const bytes = Buffer.byteLength(chunk.code);
  if (options.bytesMax !== undefined && bytes > options.bytesMax) {
    throw new BuildError('too_large', `The bundle has ${bytes} bytes; at most ${options.bytesMax} are allowed`);
  }
  return {
    code: chunk.code,
    map: portableMap(String(chunk.map), options.root),
    inputs: [...inputs].sort(),
    warnings: errorsOf(impossible.warned, containment).map((error) => formatBuildError(error).split('\n')[0]!),
  };
}

/** Imports of packages that cannot run in a worker, with their locations, in file order. */
function errorsOf(imports: readonly ImpossibleImport[], containment: Containment): BuildError[] {
  return imports
    .toSorted((a, b) => (a.importer + a.specifier < b.importer + b.specifier ? -1 : 1))
    .map(
      ({ specifier, importer, message }) =>
        new BuildError('not_supported', message, placeOf(specifier, importer, containment) ?? {}),
    );
}

function inputOptions(
  options: BundleOptions,
  containment: Containment,
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
    // The comments of attachDebugInfo would reveal the platform's installation path.
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
    // Unused Node replacements are dropped, even if they have side effects when loaded.
    treeshake: { moduleSideEffects: [{ test: ownModules, sideEffects: false }] },
    onLog(_level, log) {
      if (log.code === 'UNRESOLVED_IMPORT') unresolved.push(log);
    },
    plugins: [
      containmentPlugin(containment),
      entryPlugin(options, inputs),
      cloudflarePlugin(),
      packageStandInsPlugin(impossible, options.nodeCompat),
      nodeCompatPlugin(options.nodeCompat),
      fileImportsPlugin(options.root),
    ],
  };
}

/** The virtual module around the user's entry, and a record of the files read. */
function entryPlugin(
  { entry, workflowClasses = {} }: BundleOptions,
  inputs: Set<string>,
): NonNullable<Extract<InputOptions['plugins'], { name: string }>> {
  return {
    name: 'platform:entry',
    resolveId: { filter: { id: /^\0platform:entry$/ }, handler: () => ENTRY_ID },
    load: {
      filter: { id: /^\0platform:entry$/ },
      handler: () =>
        `import * as worker from ${JSON.stringify(entry)};
${classImports(entry, workflowClasses)}
import { toHandler } from ${JSON.stringify(ownPath('shims/handler'))};
export default ${withClassesCode(
          'withWorkflowClasses',
          `toHandler(worker.default, { ${HANDLER_NAMES.map((name) => `${name}: worker.${name}`).join(', ')} }, worker)`,
          'worker',
          workflowClasses,
        )};`,
    },
    buildEnd() {
      for (const id of this.getModuleIds()) {
        if (!id.startsWith('\0') && !id.startsWith(builderFolder + sep)) inputs.add(sourceFile(id));
      }
    },
  };
}

/** Imports for {@link withClassesCode}. The imports of classes turn a missing export into an error of the build. */
function classImports(entry: string, workflowClasses: Readonly<Record<string, string>>): string {
  const names = Object.values(workflowClasses);
  if (names.length === 0) return '';
  const checks = names.map(
    (name, index) => `import { ${name} as class${index} } from ${JSON.stringify(entry)};\nclass${index};`,
  );
  return [`import { withWorkflowClasses } from ${JSON.stringify(ownPath('shims/workflow-classes'))};`, ...checks].join(
    '\n',
  );
}

function isDependency(id: string): boolean {
  return id.includes(`${sep}node_modules${sep}`);
}

/**
 * The source map with location-independent paths: `src/index.ts`, `node_modules/hono/...`, `platform:node/buffer.ts`.
 * Sources of dependencies are omitted; the project's own are included for debuggers.
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
