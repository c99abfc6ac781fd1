// `npm run lock`: creates complete package-lock.json files again, for all folders or those that words select. npm omits
// optional packages of other machines if the registry does not have them, and `npm ci` then refuses the lockfile
// everywhere. This task adds these packages by their names, which name their machine: `npm ci` skips them on other
// machines without a request.
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, runProgram } from './tools/processes.ts';

interface LockEntry {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
  engines?: Record<string, string>;
}

/** The used parts of a lockfile. */
export interface Lockfile {
  packages: Record<string, LockEntry>;
}

const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];
const machines = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'wasm32'];

/** Optional packages without an entry, as `name@version`. */
export function missingOptional({ packages }: Lockfile): string[] {
  return Object.values(packages).flatMap(({ optionalDependencies }) =>
    Object.entries(optionalDependencies ?? {}).flatMap(([name, version]) =>
      packages[`node_modules/${name}`] === undefined ? [`${name}@${version}`] : [],
    ),
  );
}

/**
 * The lockfile with an entry for each missing package, and without `engines` of packages: these refer to the Node that
 * the launcher starts, but npm would compare them with the Node that runs npm, and warn.
 *
 * @throws {Error} for a name that does not name its machine.
 */
export function completed(lockfile: Lockfile): Lockfile {
  const packages: Record<string, LockEntry> = Object.fromEntries(
    Object.entries(lockfile.packages).map(([name, { engines, ...entry }]) => [
      name,
      engines === undefined || (name !== '' && !name.startsWith('packages/')) ? entry : { ...entry, engines },
    ]),
  );
  for (const owner of Object.values(lockfile.packages)) {
    for (const [name, version] of Object.entries(owner.optionalDependencies ?? {})) {
      packages[`node_modules/${name}`] ??= {
        ...platformOf(name),
        version,
        optional: true,
        ...(owner.dev === true ? { dev: true } : {}),
      };
    }
  }
  return { ...lockfile, packages: Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1))) };
}

function platformOf(name: string): Pick<LockEntry, 'os' | 'cpu' | 'libc'> {
  const words = name.slice(name.lastIndexOf('/') + 1).split('-');
  const os = words.filter((word) => systems.includes(word));
  const cpu = words.filter((word) => machines.includes(word));
  if (cpu.length !== 1 || (os.length !== 1 && cpu[0] !== 'wasm32'))
    throw new Error(`The optional package ${name} does not say what machine it is for`);
  const libc = words.some((word) => word.startsWith('musl'))
    ? { libc: ['musl'] }
    : words.some((word) => word.startsWith('gnu') || word === 'glibc')
      ? { libc: ['glibc'] }
      : {};
  return { cpu, ...(os.length === 1 ? { os } : {}), ...libc };
}

/** Folders with a lockfile. */
export const lockedFolders = [
  '.',
  'bench',
  'test/packages',
  'test/registry',
  ...globSync('test/frameworks/apps/*', { cwd: root }).sort(),
].filter((folder) => existsSync(join(root, folder, 'package.json')));

/** Filters folders by parts of their path. */
export async function run(words: readonly string[]): Promise<number> {
  for (const folder of lockedFolders) {
    if (words.length > 0 && !words.some((word) => folder.includes(word))) continue;
    const code = await lock(join(root, folder));
    if (code !== 0) return code;
  }
  return 0;
}

/** Local dependencies of a manifest (`file:packages/worker`), whose manifests npm reads. */
export function linkedFolders(manifest: string): string[] {
  const { dependencies, devDependencies } = JSON.parse(manifest) as Record<string, Record<string, string> | undefined>;
  return Object.values({ ...dependencies, ...devDependencies }).flatMap((wanted) =>
    wanted.startsWith('file:') ? [wanted.slice('file:'.length)] : [],
  );
}

// In a separate folder, since npm omits more packages if it finds installed ones.
async function lock(target: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'platform-lock-'));
  try {
    copyFileSync(join(target, 'package.json'), join(folder, 'package.json'));
    copyFileSync(join(root, '.npmrc'), join(folder, '.npmrc'));
    for (const linked of linkedFolders(readFileSync(join(target, 'package.json'), 'utf8'))) {
      mkdirSync(join(folder, linked), { recursive: true });
      copyFileSync(join(target, linked, 'package.json'), join(folder, linked, 'package.json'));
    }
    const { code } = await runProgram('npm', ['install', '--package-lock-only', '--ignore-scripts'], {
      show: true,
      cwd: folder,
    });
    if (code !== 0) return code;
    const lockfile = completed(JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as Lockfile);
    writeFileSync(join(target, 'package-lock.json'), `${JSON.stringify(lockfile, null, 2)}\n`);
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
