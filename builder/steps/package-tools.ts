// Finds the package manager of a project on this machine, and builds its install command. Inspects the machine's
// programs without running them. Called by install.ts.
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Manager } from '../frameworks/packages.ts';
import { findProgram } from '#core/process/confinement/confinement.ts';
import { buildFailure } from './types.ts';

/**
 * The command that installs exactly what the lockfile lists, including dev dependencies.
 *
 * @param hasYarnSettings whether a `.yarnrc.yml` exists: Yarn 2 or later.
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

/** What commands need to find a package manager. */
export interface ManagerPrograms {
  /** Folders for PATH. */
  readonly folders: readonly string[];
  /** Folders to mount read-only in namespaces: packages of programs outside the system's folders. */
  readonly readable: readonly string[];
  /** Wrapper programs to create: name -> command. */
  readonly shims: Readonly<Record<string, string>>;
  /** Line for the log, or null. */
  readonly note: string | null;
}

/**
 * Finds a package manager on this machine, or corepack, which downloads it.
 *
 * @throws {Failure} `build`: `install_failed` with the program to install.
 */
export async function findManager(
  manager: Manager,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<ManagerPrograms> {
  const { name, version } = manager;
  const corepack = name === 'npm' || name === 'bun' ? null : await findProgram('corepack', environment);
  const own = await findProgram(name, environment);
  // A requested version is downloaded if possible.
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
    npm: 'Install Node with npm for all users',
    pnpm: 'Install pnpm for all users (npm install -g pnpm), or corepack, which fetches the version that a project names',
    yarn: 'Install Yarn for all users (npm install -g yarn), or corepack, which fetches the version that a project names',
    bun: 'Install Bun for all users (npm install -g bun)',
  }[name];
  throw buildFailure(
    'install_failed',
    `The project uses ${name} (${manager.because}), which is not on the platform's machine. ${how}; or set an install command that uses another package manager`,
  );
}

/** Locations of a program and its package. */
async function placesOf(program: string): Promise<Pick<ManagerPrograms, 'folders' | 'readable'>> {
  const folder = dirname(program);
  const real = await realpath(program).catch(() => program);
  const [, modules] = /^(.*\/node_modules)\/(?:@[^/]+\/)?[^/]+\//.exec(real) ?? [];
  const shown = [modules ?? real, ...(modules === undefined ? [] : [program])];
  return { folders: [folder], readable: shown.filter((path) => !/^\/(?:usr|bin|nix\/store)\//.test(path)) };
}

/** Text of a wrapper program. */
export function shimText(command: string): string {
  return `#!/bin/sh\nexec ${command} "$@"\n`;
}

/** Folder of the wrapper programs. */
export function shimFolder(home: string): string {
  return join(home, '.programs');
}
