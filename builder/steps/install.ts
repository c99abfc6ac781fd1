// Installs a project's dependencies, confined, with the package manager of its lockfile or package.json. Called by
// run-build.ts; build-sandbox/ uses the same rules with its own programs.
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chooseNode } from '../frameworks/node-version.ts';
import { baseVariables, certificatePaths } from './environment.ts';
import { findManager, installCommand, shimFolder, shimText, type ManagerPrograms } from './package-tools.ts';
import { openPackageCache, type PackageCache } from './package-cache.ts';
import { readLimited, type BuildPlan } from './plan.ts';
import type { Fence } from './fence.ts';
import { buildFailure, type BuildRequest } from './types.ts';
import { OUTBOUND_VARIABLES, withOutbound } from './outbound/inside.ts';

/** Context of the following commands of the build. */
export interface ToolEnvironment {
  readonly env: Readonly<Record<string, string>>;
  readonly readable: readonly (readonly [from: string, to: string])[];
  /** The cache to save after a successful build, or null. */
  readonly cache: PackageCache | null;
}

const LOCKFILE_BYTES_MAX = 64 * 1024 * 1024;
const MANIFEST_BYTES_MAX = 5 * 1024 * 1024;
/** The end of a command's output, for the failure message. */
const TAIL_CHARS_MAX = 8000;

/** Dependencies that are never bundled: types, and development tools. */
const TOOLS =
  /^(?:@types\/.+|@platform-run\/(?:cli|types)|typescript|prettier|eslint|oxlint|oxfmt|@cloudflare\/workers-types)$/;

/** @throws {Failure} `build`: `install_failed`, or a limit of the fence; the reason of the build's signal. */
export async function install(request: BuildRequest, plan: BuildPlan, fence: Fence): Promise<ToolEnvironment> {
  const say = (text: string): void => request.onLine('install', 'info', text);
  const command = await decideInstall(plan, say);
  const needsManager = command !== null || plan.config.build !== null;
  const programs = needsManager ? await findPrograms(plan, fence, say) : { folders: [], readable: [] };
  if (needsManager) compareNode(request, plan);
  const env = { ...storeOf(plan, fence), ...variablesOf(request, fence, programs.folders) };
  const readable = [...programs.readable, ...certificatePaths()].map((path) => [path, path] as const);
  if (command === null) return { env, readable, cache: null };
  const cache = await cacheOf(request, plan, fence);
  if (cache !== null) say(await cache.restore());
  else say(request.isFork ? 'A build of a fork: no cache is read or written' : 'No cache is used');
  await runInstall(request, plan, fence, { command, cwd: plan.installFolder, env, readable });
  return { env, readable, cache };
}

/** Runs the install command. @param how location and programs of the install. */
export async function runInstall(
  request: BuildRequest,
  plan: BuildPlan,
  fence: Fence,
  how: Pick<ToolEnvironment, 'env' | 'readable'> & { readonly command: string; readonly cwd: string },
): Promise<void> {
  const { command, cwd, env, readable } = how;
  request.onLine('install', 'info', `$ ${command}`);
  let tail = '';
  const ended = await fence.run({
    ...withOutbound(fence.outbound, ['sh', '-c', command], env),
    cwd,
    readable,
    network: 'outbound',
    onOutput(chunk) {
      request.onOutput('install', 'info', chunk);
      tail = (tail + chunk.toString('utf8')).slice(-TAIL_CHARS_MAX);
    },
  });
  if (ended.code === 0) return;
  const end = ended.signal === null ? `ended with exit code ${ended.code}` : `was ended by ${ended.signal}`;
  throw buildFailure('install_failed', `The install command "${command}" ${end}${hintFor(tail, plan)}`);
}

/**
 * Variables of every command. Variables of the project override these variables, and variables of the platform override
 * both.
 */
function variablesOf(request: BuildRequest, fence: Fence, folders: readonly string[]): Record<string, string> {
  return {
    ...baseVariables(fence.folders, folders),
    ...(fence.outbound !== null && OUTBOUND_VARIABLES),
    ...request.variables,
    ...request.platformVariables,
  };
}

/** The store folder of pnpm; only set for pnpm, since npm warns about unknown settings. */
export function storeOf({ manager }: BuildPlan, { folders }: Fence): Record<string, string> {
  if (manager.name !== 'pnpm') return {};
  const store = join(folders.cache, 'pnpm');
  return { npm_config_store_dir: store, pnpm_config_store_dir: store };
}

async function findPrograms(
  plan: BuildPlan,
  fence: Fence,
  say: (text: string) => void,
): Promise<Pick<ManagerPrograms, 'folders' | 'readable'>> {
  // A custom install command without a package.json may not need a package manager.
  const found = await findManager(plan.manager).catch((error: unknown) => {
    if (plan.installCommand === null && plan.manager.lockfile !== null) throw error;
    return null;
  });
  if (found === null) return { folders: [], readable: [] };
  if (found.note !== null) say(found.note);
  const shims = shimFolder(fence.folders.home);
  for (const [name, command] of Object.entries(found.shims)) {
    await mkdir(shims, { recursive: true, mode: 0o700 });
    await writeFile(join(shims, name), shimText(command));
    await chmod(join(shims, name), 0o755);
    await fence.giveAway(shims);
  }
  return { folders: [shims, ...found.folders], readable: found.readable };
}

/** Only the platform's own Node is available: if the project requests another version, the log says so. */
function compareNode(request: BuildRequest, { node: asked }: BuildPlan): void {
  const version = process.versions.node;
  if (asked === null) return;
  const { node, isNear } = chooseNode(asked.text, [{ version }]);
  if (node !== null && !isNear) return;
  request.onLine(
    'install',
    'warn',
    `${asked.from} asks for Node ${asked.text}; this machine's own, ${version}, is used`,
  );
}

/** The install command; null means that no install is needed. */
export async function decideInstall(plan: BuildPlan, say: (text: string) => void): Promise<string | null> {
  if (plan.installCommand !== null) {
    say(`Install command: ${plan.installCommand} (settings of the project)`);
    return plan.installCommand;
  }
  const text = await readLimited(join(plan.installFolder, 'package.json'), MANIFEST_BYTES_MAX);
  if (text === null) {
    say('There is no package.json: nothing to install');
    return null;
  }
  const needed = dependenciesOf(text);
  if (needed !== null && needed.length === 0 && plan.manager.lockfile === null) {
    say('package.json has no dependencies: nothing to install');
    return null;
  }
  if (needed !== null && plan.config.build === null && needed.every((name) => TOOLS.test(name))) {
    say('Nothing to install: package.json has only types and tools, which the bundle does not use');
    return null;
  }
  say(`Package manager: ${plan.manager.name} (${plan.manager.because})`);
  const hasYarnSettings = (await readdir(plan.installFolder)).includes('.yarnrc.yml');
  return installCommand(plan.manager, hasYarnSettings);
}

/** Names of all dependencies; null if package.json is unreadable, or nested packages exist. */
function dependenciesOf(text: string): string[] | null {
  try {
    const manifest = JSON.parse(text.replace(/^\ufeff/, '')) as Record<string, unknown>;
    if (manifest['workspaces'] !== undefined) return null;
    const kinds = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];
    return kinds.flatMap((kind) => Object.keys((manifest[kind] ?? {}) as object));
  } catch {
    return null;
  }
}

async function cacheOf(request: BuildRequest, plan: BuildPlan, fence: Fence): Promise<PackageCache | null> {
  const { cacheFolder, isFork, limits } = request;
  if (cacheFolder === null || isFork) return null;
  const { name, lockfile } = plan.manager;
  const file = join(plan.installFolder, lockfile ?? 'package.json');
  const content = (await readLimited(file, LOCKFILE_BYTES_MAX)) ?? '';
  return openPackageCache({
    store: cacheFolder,
    folder: fence.folders.cache,
    key: { manager: name, lockfile: content },
    bytesMax: limits.cacheBytesMax,
    giveAway: (folder) => fence.giveAway(folder),
  });
}

/** Advice for common failures. */
function hintFor(tail: string, { manager }: BuildPlan): string {
  if (/can only install packages when your package\.json and package-lock\.json.*are in sync|EUSAGE/s.test(tail))
    return `: package-lock.json does not fit package.json. Run npm install and commit both`;
  if (/ERR_PNPM_OUTDATED_LOCKFILE|frozen-lockfile/i.test(tail) && manager.name !== 'npm')
    return `: ${manager.lockfile ?? 'the lockfile'} does not fit package.json. Run ${manager.name} install and commit both`;
  if (/corepack/.test(tail) && /signature|integrity|keyid/i.test(tail))
    return `: corepack cannot check what it fetched. A newer corepack, or ${manager.name} itself on the platform's machine, can`;
  if (/\bE404\b|404 Not Found/.test(tail)) return ': a package was not found in the registry (see above)';
  if (/\bE40[13]\b/.test(tail))
    return ': the registry refuses access. Put its token into a variable of the project and name that in .npmrc';
  if (/ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED/.test(tail))
    return ': the registry cannot be reached from this machine';
  return '';
}
