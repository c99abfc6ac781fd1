// Detects a project's package manager, and builds commands to run its scripts. Pure. Called by detect.ts and by
// builder/steps/.
import { isObject, parseObject } from './project-view.ts';

type ManagerName = 'npm' | 'pnpm' | 'yarn' | 'bun';

/** The package manager of a project. */
export interface Manager {
  readonly name: ManagerName;
  /** `packageManager` of package.json, such as `9.1.0`; null means any. */
  readonly version: string | null;
  /** Name of the package manager's lockfile, or null. */
  readonly lockfile: string | null;
  /** The reason, for the log. */
  readonly because: string;
}

/** Lockfiles in order of precedence. */
const LOCKFILES: readonly (readonly [file: string, manager: ManagerName])[] = [
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
];

/**
 * The package manager of a folder: `packageManager` or `devEngines` of package.json, otherwise by its lockfile,
 * otherwise npm.
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

/** The value of `packageManager`, otherwise of `devEngines`; '' if neither is set. */
function packageManagerOf(manifest: string | null): string {
  const { packageManager, devEngines } = parseObject((manifest ?? '{}').replace(/^\ufeff/, ''));
  if (typeof packageManager === 'string') return packageManager;
  const asked = isObject(devEngines) ? devEngines['packageManager'] : null;
  return isObject(asked) ? `${String(asked['name'])}@${String(asked['version'])}` : '';
}
