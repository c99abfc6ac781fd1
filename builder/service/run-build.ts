// One build, from its source to the stored artifact: fetch, plan, install, build and bundle, take the artifact.
// Untrusted code only runs in confined processes (steps/fence.ts) or in a sandbox. Called by builder/service/.
import { nodeCommand } from '#core/process/node-command.ts';
import { buildInSandbox } from '../steps/build-sandbox/build-in-sandbox.ts';
import { checkOut } from '../steps/checkout.ts';
import { baseVariables, certificatePaths } from '../steps/environment.ts';
import { install } from '../steps/install.ts';
import { askLibrary, makeArtifact, resultOf, withCommit, type BuildProgram } from '../steps/make-artifact.ts';
import { CHILD } from '../steps/own-folders.ts';
import { planBuild } from '../steps/plan.ts';
import { openFence, type OpenFence } from '../steps/fence.ts';
import { takeArtifact } from '../steps/take-artifact.ts';
import type { BuildRequest, BuildResult } from '../steps/types.ts';

/**
 * Builds a deployment: on this machine, or in a sandbox of the sandbox service.
 *
 * @param open creates the folders and runs the commands. Tests pass a function that starts fewer processes.
 * @throws {Failure} `build`, or the reason of `request.signal`. All processes and folders of the build are removed.
 * @example
 * const { artifactId } = await runBuild({ source: { url: 'https://git.example/a/b' }, branch: 'main', ... });
 */
export async function runBuild(request: BuildRequest, open: OpenFence = openFence): Promise<BuildResult> {
  request.signal.throwIfAborted();
  return request.sandbox === null ? buildHere(request, open) : buildInSandbox(request, request.sandbox);
}

async function buildHere(request: BuildRequest, open: OpenFence): Promise<BuildResult> {
  const fence = await open(request);
  const program: BuildProgram = {
    node: nodeCommand(),
    script: CHILD,
    env: baseVariables(fence.folders, []),
    readable: certificatePaths().map((path) => [path, path] as const),
  };
  try {
    request.onStep('clone');
    const { commit, paths } = await checkOut(request, fence);
    const told = withCommit(request, commit);
    const plan = await planBuild(told, fence.folders.source, paths, (root) => askLibrary(root, fence, program));
    request.onStep('install');
    const tools = await install(told, plan, fence);
    request.onStep('build');
    const id = await makeArtifact(told, plan, fence, { tools, program });
    const artifact = await takeArtifact(fence.folders.artifact, id, request.artifactsFolder, request.limits);
    const saved = await tools.cache?.save().catch((error: unknown) => `The packages are not cached: ${String(error)}`);
    if (saved != null) request.onLine('artifact', 'info', saved);
    request.signal.throwIfAborted();
    request.onLine('artifact', 'info', `Artifact ${artifact.id} (${artifact.files} files, ${artifact.bytes} bytes)`);
    return resultOf(artifact, plan.config.name, commit);
  } finally {
    await fence.close();
  }
}
