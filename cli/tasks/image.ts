// `:image <name> <folder>`: writes the program's files for one container image: the modules of its processes as
// JavaScript, and the packages that they import. Called by the Dockerfiles; independent of containers. Not packed.
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buildDashboard } from '#dashboard/build/build.ts';
import { finishDashboard } from '#web/build/dashboard-site.ts';
import { buildDocs } from '#web/docs-site/build.ts';
import { nodeFlags } from '#core/node-flags.mjs';
import { arrowsOf, readModules, resolveOwn, type Modules } from './tools/import-graph.ts';
import { stageProgram } from './pack.ts';
import { bundleEntries } from './release/bundles.ts';
import { root } from './tools/processes.ts';
import { readSources } from './tools/sources.ts';

/** Framework adapters, which builds load by path. */
const adapters = ['packages/astro/', 'packages/nitro/', 'packages/sveltekit/'];

/** Folders of an image; their imports are added. */
const contents: Readonly<Record<string, readonly string[]>> = {
  handler: ['runtime/supervisor/', 'runtime/engine/', 'runtime/ssr/', 'postgres/'],
  servers: ['runtime/supervisor/', 'runtime/ssr/', 'postgres/'],
  internal: [
    'runtime/supervisor/',
    'runtime/broker/',
    'runtime/databases/',
    'runtime/migrator/',
    'runtime/mirror/',
    'postgres/',
  ],
  control: ['runtime/supervisor/', 'control/', 'gateway/', 'postgres/', 'git/'],
  sandbox: ['runtime/supervisor/', 'sandbox/', 'postgres/'],
  builder: ['runtime/supervisor/', 'builder/', 'core/rpc/', 'postgres/', 'git/', ...adapters],
  edge: ['runtime/supervisor/', 'runtime/edge/', 'postgres/'],
  web: ['runtime/supervisor/', 'web/main.ts', 'web/configuration.ts', 'web/sites.ts', 'web/serve/'],
  platform: [
    'runtime/',
    'control/',
    'gateway/',
    'sandbox/',
    'web/',
    'dashboard/',
    'builder/',
    'cli/',
    'postgres/',
    'git/',
    'artifacts/',
    'operations/',
    'core/rpc/',
    ...adapters,
  ],
};

/** Package files that are not needed at run time. */
const ofNoUse = [
  '**/*.{c,cc,cpp,h,gyp,gypi,tgz,map,md,markdown,d.ts,d.mts,d.cts}',
  '**/prebuilds/{darwin,win32,linuxmusl}*/**',
  '**/prebuilds/{darwin,win32,linuxmusl}*.node',
  '**/prebuilds/**/*.musl.node',
  '**/{test,tests,example,examples}/**',
];

type Lock = Readonly<
  Record<string, { readonly dependencies?: object; readonly optionalDependencies?: object; readonly link?: boolean }>
>;

export async function run(words: readonly string[]): Promise<number> {
  const [name = '', folder = ''] = words;
  if (!Object.hasOwn(contents, name) || folder === '') {
    process.stderr.write(`usage: :image ${Object.keys(contents).join('|')} <folder>\n`);
    return 2;
  }
  const target = path.resolve(folder);
  rmSync(target, { recursive: true, force: true });
  const { files, packages } = contentsOf(readModules(readSources(root)), name, readLock());
  stageProgram(target, (file) => isIn(contents[name]!, file) || files.has(file));
  await bundleEntries(target);
  if (files.has('web/main.ts')) {
    await buildDashboard(path.join(target, 'dashboard/dist'));
    await finishDashboard(path.join(target, 'dashboard/dist'));
    await buildDocs(path.join(target, 'web/docs-site/dist'));
  }
  for (const place of packages) copyPackage(place, target);
  writeProgram(path.join(target, 'start'), `exec node ${nodeFlags.join(' ')} /opt/platform/runtime/supervisor/main.js`);
  if (files.has('cli/main.ts')) writeProgram(path.join(target, 'platform'), 'exec node /opt/platform/cli/run.mjs "$@"');
  // The base image has no HTTP client; Bash can open connections.
  writeProgram(
    path.join(target, 'healthy'),
    'exec 3<>"/dev/tcp/127.0.0.1/${HANDLER_PRIVATE_PORT:-8081}"\n' +
      `printf 'GET /_platform/health/ready HTTP/1.0\\r\\n\\r\\n' >&3\nread -r -t 3 answer <&3\n[[ $answer == *" 200 "* ]]`,
  );
  process.stdout.write(`${name}: ${files.size} modules, ${packages.length} packages\n`);
  return 0;
}

/** Modules reached from an image's folders, and the paths of imported packages. */
export function contentsOf(
  modules: Modules,
  name: string,
  lock: Lock,
): { readonly files: ReadonlySet<string>; readonly packages: readonly string[] } {
  const targets = new Map<string, string[]>();
  for (const { from, to, kind } of arrowsOf(modules))
    if (kind !== 'type') targets.set(from, [...(targets.get(from) ?? []), to]);
  const files = new Set([...modules.keys()].filter((file) => isIn(contents[name]!, file)));
  for (const file of files) for (const to of targets.get(file) ?? []) if (modules.has(to)) files.add(to);
  const names = new Set<string>();
  for (const file of files)
    for (const { specifier, typeOnly } of modules.get(file)!.imports)
      if (!typeOnly && resolveOwn(file, specifier) === null) names.add(packageOf(specifier));
  return { files, packages: closureOf([...names], lock) };
}

function isIn(folders: readonly string[], file: string): boolean {
  return folders.some((folder) => file.startsWith(folder));
}

/** @example packageOf('@noble/hashes/sha2.js') // '@noble/hashes' */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Paths in node_modules of packages and their dependencies, from the lockfile. */
function closureOf(names: readonly string[], lock: Lock): string[] {
  const found = new Set<string>();
  const visit = (name: string, from: string): void => {
    for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
      const place = `${at}${at === '' ? '' : '/'}node_modules/${name}`;
      const entry = lock[place];
      if (entry !== undefined && entry.link !== true) {
        if (found.has(place)) return;
        found.add(place);
        for (const needed of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }))
          visit(needed, place);
        return;
      }
      if (at === '') return;
    }
  };
  for (const name of names) visit(name, '');
  return [...found].toSorted();
}

function readLock(): Lock {
  return (JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as { packages: Lock }).packages;
}

/** Packages that are not installed are for other systems. */
function copyPackage(place: string, target: string): void {
  const from = path.join(root, place);
  if (!existsSync(from)) return;
  const left = new Set(globSync(ofNoUse, { cwd: from }));
  const to = path.join(target, place);
  mkdirSync(to, { recursive: true });
  cpSync(from, to, {
    recursive: true,
    filter: (file) => {
      const inside = path.relative(from, file);
      return !inside.split(path.sep).includes('node_modules') && !left.has(inside);
    },
  });
}

function writeProgram(file: string, lines: string): void {
  writeFileSync(file, `#!/bin/bash\n${lines}\n`);
  chmodSync(file, 0o755);
}
