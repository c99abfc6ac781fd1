// Package managers in a build sandbox: the installed ones, and corepack for other versions. Inspects the sandbox;
// package-tools.ts has the rules. Called by build-in-sandbox.ts.
import { shimFolder, shimText } from '../package-tools.ts';
import type { BuildPlan } from '../plan.ts';
import { buildFailure } from '../types.ts';
import type { BuildMachine } from './machine.ts';

/** Writes programs: name -> text. */
const WRITE = `
set -e
mkdir -p "$1"
printf '%s' "$3" > "$1/$2"
chmod 755 "$1/$2"`;

/**
 * @returns the folders to prepend to PATH.
 * @throws {Failure} `build`: `install_failed` when the sandbox does not have the project's package manager.
 */
export async function findTools(
  { manager, installCommand }: BuildPlan,
  machine: BuildMachine,
  say: (text: string) => void,
): Promise<string[]> {
  const { name, version, lockfile, because } = manager;
  const look = 'for name in "$@"; do command -v "$name" >/dev/null 2>&1 && echo "$name"; done; true';
  const there = new Set((await machine.script(look, name, 'corepack')).split('\n'));
  const hasOwn = there.has(name);
  const hasCorepack = there.has('corepack') && name !== 'npm' && name !== 'bun';
  if (hasCorepack && (!hasOwn || version !== null)) {
    const what = version === null ? name : `${name}@${version}`;
    const folder = shimFolder(machine.folders.home);
    await machine.script(WRITE, folder, name, shimText(`corepack ${what}`));
    say(`${what} comes from corepack`);
    return [folder];
  }
  if (hasOwn) {
    if (version !== null && name !== 'bun') say(`package.json asks for ${name} ${version}; the sandbox's own is used`);
    return [];
  }
  // A custom install command without a lockfile may not need a package manager.
  if (installCommand !== null || lockfile === null) return [];
  throw buildFailure(
    'install_failed',
    `The project uses ${name} (${because}), which the build sandbox does not have. Build with an image that has it (BUILD_SANDBOX_IMAGE), or set an install command that uses another one`,
  );
}
