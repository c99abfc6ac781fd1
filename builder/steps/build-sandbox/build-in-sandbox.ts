// A build whose commands all run in a sandbox. The commit is fetched and checked on this machine, so that the sandbox
// gets no credentials; the files are uploaded, and the artifact is downloaded and checked as untrusted data. Called by
// run-build.ts.
import { relative } from 'node:path';
import { PlatformError } from '#core/errors.ts';
import type { Failure } from '#core/failure.ts';
import { checkOut } from '../checkout.ts';
import { decideInstall, runInstall, storeOf, type ToolEnvironment } from '../install.ts';
import { askLibrary, makeArtifact, resultOf, withCommit } from '../make-artifact.ts';
import { planBuild, type BuildPlan } from '../plan.ts';
import { openFence, type Fence } from '../fence.ts';
import { takeArtifact } from '../take-artifact.ts';
import { buildFailure, type BuildRequest, type BuildResult, type BuildSandbox } from '../types.ts';
import { openBuildMachine, type BuildMachine } from './machine.ts';
import { fetchArtifact } from './fetch-artifact.ts';
import { findNode } from './nodes.ts';
import { findTools } from './tools.ts';

/** Maximum restarts of a build whose sandbox was lost. */
const TRIES = 2;

/**
 * @throws {Failure} `build`, or the reason of the build's signal. If the sandbox fails, the build fails: it never runs
 * on this machine instead.
 */
export async function buildInSandbox(request: BuildRequest, access: BuildSandbox): Promise<BuildResult> {
  const own = await openFence(request);
  try {
    request.onStep('clone');
    const { commit, paths } = await checkOut(request, own);
    const told = withCommit(request, commit);
    for (let attempt = 1; ; attempt++) {
      try {
        return await buildFrom(told, { own, paths, commit, access: attempt === 1 ? access : again(access) });
      } catch (error) {
        request.signal.throwIfAborted();
        if (!(error instanceof PlatformError)) throw error;
        if (error.code !== 'sandbox_lost' || attempt === TRIES) throw failureOf(error);
        request.onLine('queue', 'warn', `${error.message}: the build restarts`);
      }
    }
  } finally {
    await own.close();
  }
}

/** The cache is only cleared for the first attempt. */
function again(access: BuildSandbox): BuildSandbox {
  return { ...access, isCleared: false };
}

async function buildFrom(
  request: BuildRequest,
  given: {
    readonly own: Fence;
    readonly paths: readonly string[];
    readonly commit: BuildResult['commit'];
    readonly access: BuildSandbox;
  },
): Promise<BuildResult> {
  const { own, paths, commit, access } = given;
  const machine = await openBuildMachine(request, access);
  try {
    const left = machine.isReused ? 'with what its last build left in caches' : 'which is new';
    request.onLine('clone', 'info', `Building in the sandbox ${access.place.id}, ${left}`);
    await sendSources(own, machine);
    const plan = await planBuild(request, own.folders.source, paths, (root) =>
      askLibrary(inside(root, own.folders.source, 'incoming', machine), machine, machine.program),
    );
    const moved = movePlan(plan, own.folders.source, machine);
    const caches = [...new Set([moved.root, moved.workspace, moved.installFolder])].map((folder) =>
      relative(machine.folders.source, folder),
    );
    await machine.script(ARRANGE, ...caches);
    request.onStep('install');
    const tools = await installInside(request, { plan, moved, machine });
    await machine.script(RESTORE, ...caches);
    request.onStep('build');
    const id = await makeArtifact(request, moved, machine, { tools, program: machine.program });
    await fetchArtifact(machine, id, own.folders.artifact, request.limits);
    const artifact = await takeArtifact(own.folders.artifact, id, request.artifactsFolder, request.limits);
    request.signal.throwIfAborted();
    request.onLine('artifact', 'info', `Artifact ${artifact.id} (${artifact.files} files, ${artifact.bytes} bytes)`);
    return resultOf(artifact, plan.config.name, commit);
  } finally {
    await machine.close();
  }
}

/** Uploads the files of the commit next to the files of the previous build. */
async function sendSources(own: Fence, machine: BuildMachine): Promise<void> {
  const { source } = own.folders;
  await own.run({
    words: ['tar', '-c', '--format=gnu', '--owner=0', '--group=0', '-C', source, '.'],
    cwd: source,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' },
    read: (output) => machine.write('source.tar', output),
  });
  await machine.script(UNPACK);
}

const UNPACK = `
set -e
for old in incoming home tmp artifact artifact.tar; do
  [ ! -e "$old" ] || rm -rf "$old" 2>/dev/null || { chmod -R u+rwX "$old"; rm -rf "$old"; }
done
mkdir -p incoming home tmp artifact cache
tar -xf source.tar -C incoming --no-same-owner
rm source.tar`;

/** Moves the files into place; of the previous build, only `node_modules/.cache` of these folders is kept. */
const ARRANGE = `
set -e
rm -rf kept
mkdir kept
at=0
for folder in "$@"; do
  at=$((at + 1))
  cached="source/$folder/node_modules/.cache"
  if [ -d "$cached" ] && [ ! -L "$cached" ]; then mv "$cached" "kept/$at"; fi
done
rm -rf source 2>/dev/null || { chmod -R u+rwX source; rm -rf source; }
mv incoming source`;

/** Restores `node_modules/.cache` after an install, which may have started with empty folders. */
const RESTORE = `
set -e
at=0
for folder in "$@"; do
  at=$((at + 1))
  modules="source/$folder/node_modules"
  if [ -d "kept/$at" ] && [ -d "$modules" ] && [ ! -e "$modules/.cache" ]; then mv "kept/$at" "$modules/.cache"; fi
done
rm -rf kept`;

async function installInside(
  request: BuildRequest,
  { plan, moved, machine }: { readonly plan: BuildPlan; readonly moved: BuildPlan; readonly machine: BuildMachine },
): Promise<ToolEnvironment> {
  const say = (text: string): void => request.onLine('install', 'info', text);
  const command = await decideInstall(plan, say);
  const needsManager = command !== null || plan.config.build !== null;
  const folders = needsManager
    ? [
        ...(await findTools(plan, machine, say)),
        ...(await findNode(plan.node, machine, (level, text) => request.onLine('install', level, text))),
      ]
    : [];
  const env = {
    ...storeOf(plan, machine),
    ...machine.variables,
    PATH: [...folders, machine.path].join(':'),
    ...request.variables,
    ...request.platformVariables,
  };
  if (command !== null)
    await runInstall(request, plan, machine, { command, cwd: moved.installFolder, env, readable: [] });
  return { env, readable: [], cache: null };
}

function movePlan(plan: BuildPlan, from: string, machine: BuildMachine): BuildPlan {
  const move = (path: string): string => inside(path, from, 'source', machine);
  return {
    ...plan,
    root: move(plan.root),
    workspace: move(plan.workspace),
    installFolder: move(plan.installFolder),
  };
}

function inside(path: string, from: string, folder: 'source' | 'incoming', { folders }: BuildMachine): string {
  const below = relative(from, path);
  const root = folder === 'source' ? folders.source : folders.source.replace(/source$/, folder);
  return below === '' ? root : `${root}/${below}`;
}

/** Converts an error of the sandbox service to a build failure. */
function failureOf(error: PlatformError): Failure<'build'> {
  const { code, message } = error;
  if (code === 'sandbox_option_refused')
    return buildFailure('sandbox_unfit', `${message}. An owner of the organization can choose another build machine`, {
      cause: error,
    });
  if (code === 'sandbox_limit') return buildFailure('sandbox_limit', message, { cause: error });
  if (code === 'sandbox_disk_full')
    return buildFailure('disk_full', `${message}: clear the build cache, or build less`, { cause: error });
  return buildFailure(
    'sandbox_unavailable',
    `The sandbox of the build cannot be used, and builds run only in sandboxes: ${message}`,
    { cause: error },
  );
}
