// Package managers: which one a project uses, whether this machine has it, and the command that installs with it. Looks
// at names of files and at the machine's programs; runs nothing. Called by install.ts and detection.ts.
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findProgram } from './confinement.ts';
import { BuildFailure } from './types.ts';

export type ManagerName = 'npm' | 'pnpm' | 'yarn' | 'bun';

/** The package manager of a project. */
export interface Manager {
  readonly name: ManagerName;
  /** `packageManager` of package.json, such as `9.1.0`; null: any. */
  readonly version: string | null;
  /** Name of its lockfile; null: there is none. */
  readonly lockfile: string | null;
  /** Why it is this one, for the log. */
  readonly because: string;
}

/** Lockfiles, the one that counts first. */
const LOCKFILES: readonly (readonly [file: string, manager: ManagerName])[] = [
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
];

/**
 * The manager that a folder asks for: `packageManager` of its package.json, else its lockfile, else npm.
 *
 * @param files names in the folder @param manifest text of its package.json
 * @example managerOf(['package.json', 'pnpm-lock.yaml'], '{}').name // 'pnpm'
 */
export function managerOf(files: readonly string[], manifest: string | null): Manager {
  const lockfiles = LOCKFILES.filter(([file]) => files.includes(file));
  const [, named, version = null] = /^(npm|pnpm|yarn|bun)(?:@(\d+[\w.+-]*))?/.exec(packageManagerOf(manifest)) ?? [];
  if (named !== undefined) {
    const own = lockfiles.find(([, manager]) => manager === named)?.[0] ?? null;
    const exact = version?.split('+')[0] ?? null;
    return { name: named as ManagerName, version: exact, lockfile: own, because: 'package.json names it' };
  }
  const [first] = lockfiles;
  if (first === undefined) return { name: 'npm', version: null, lockfile: null, because: 'there is no lockfile' };
  return { name: first[1], version: null, lockfile: first[0], because: `there is a ${first[0]}` };
}

/** Command that runs a script of package.json. */
export function runCommand({ name }: Manager, script: string): string {
  return name === 'yarn' || name === 'pnpm' ? `${name} ${script}` : `${name} run ${script}`;
}

/**
 * The command that installs what the lockfile says, tools for the build included, and nothing else.
 *
 * @param hasYarnSettings whether there is a `.yarnrc.yml`: of version 2 or later.
 */
export function installCommand({ name, version, lockfile }: Manager, hasYarnSettings: boolean): string {
  const isLocked = lockfile !== null;
  switch (name) {
    case 'npm':
      return `npm ${isLocked ? 'ci' : 'install'} --include=dev`;
    case 'pnpm':
      return `pnpm install --prod=false${isLocked ? ' --frozen-lockfile' : ' --no-frozen-lockfile'}`;
    case 'bun':
      return `bun install${isLocked ? ' --frozen-lockfile' : ''}`;
    case 'yarn': {
      const isNew = version === null ? hasYarnSettings : !version.startsWith('1.');
      if (isNew) return `yarn install${isLocked ? ' --immutable' : ''}`;
      return `yarn install --production=false --non-interactive${isLocked ? ' --frozen-lockfile' : ''}`;
    }
  }
}

/** How commands find a manager. */
export interface ManagerPrograms {
  /** Folders for PATH. */
  readonly folders: readonly string[];
  /** Folders to be seen read-only in namespaces: packages of programs that lie outside of the system's folders. */
  readonly readable: readonly string[];
  /** Programs by these names are made to run it: name -> command. */
  readonly shims: Readonly<Record<string, string>>;
  /** What the log says of it; null: nothing. */
  readonly note: string | null;
}

/**
 * Finds a manager on this machine, or corepack, which fetches it.
 *
 * @throws {BuildFailure} `install_failed` with what to install.
 */
export async function findManager(
  manager: Manager,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<ManagerPrograms> {
  const { name, version } = manager;
  const corepack = name === 'npm' || name === 'bun' ? null : await findProgram('corepack', environment);
  const own = await findProgram(name, environment);
  // A version that is asked for is fetched where that is possible.
  if (corepack !== null && (own === null || version !== null)) {
    const places = await placesOf(corepack);
    const what = version === null ? name : `${name}@${version}`;
    return { ...places, shims: { [name]: `corepack ${what}` }, note: `${what} comes from corepack` };
  }
  if (own !== null) {
    const differs = version !== null && name !== 'bun';
    const note = differs ? `package.json asks for ${name} ${version}; this machine's own version is used` : null;
    return { ...(await placesOf(own)), shims: {}, note };
  }
  const how = {
    npm: 'Install npm for all users (it comes with Node)',
    pnpm: 'Install it for all users (npm install -g pnpm), or corepack, which fetches the version a project names',
    yarn: 'Install it for all users (npm install -g yarn), or corepack, which fetches the version a project names',
    bun: 'Install it for all users (npm install -g bun)',
  }[name];
  throw new BuildFailure(
    'install_failed',
    `The project uses ${name} (${manager.because}), which is not on the platform's machine. ${how}; or set an install command that uses another one`,
  );
}

/** Where a program and its package lie. */
async function placesOf(program: string): Promise<Pick<ManagerPrograms, 'folders' | 'readable'>> {
  const folder = dirname(program);
  const real = await realpath(program).catch(() => program);
  const [, modules] = /^(.*\/node_modules)\/(?:@[^/]+\/)?[^/]+\//.exec(real) ?? [];
  const shown = [modules ?? real, ...(modules === undefined ? [] : [program])];
  return { folders: [folder], readable: shown.filter((path) => !/^\/(?:usr|bin|nix\/store)\//.test(path)) };
}

/** Lines of the program that stands for a manager. */
export function shimText(command: string): string {
  return `#!/bin/sh\nexec ${command} "$@"\n`;
}

/** Folder of such programs. */
export function shimFolder(home: string): string {
  return join(home, '.programs');
}

function packageManagerOf(manifest: string | null): string {
  try {
    const { packageManager } = JSON.parse((manifest ?? '{}').replace(/^\ufeff/, '')) as { packageManager?: unknown };
    return typeof packageManager === 'string' ? packageManager : '';
  } catch {
    return '';
  }
}
