// A build, from its source to its artifact in the store: fetch, plan, install, build and bundle, take the artifact. The
// code of strangers runs only through the sandbox. Called by builder/service/.
import { nodeFlags } from '#core/node-flags.mjs';
import { nodeCommand } from '#core/process/node-command.ts';
import { checkOut } from './checkout.ts';
import type { ChildJob, ChildReport } from './child.ts';
import { baseVariables, certificatePaths } from './environment.ts';
import { install, type ToolEnvironment } from './install.ts';
import type { LibraryFramework } from './library.ts';
import { CHILD } from './own-folders.ts';
import { planBuild, type BuildPlan } from './plan.ts';
import { openSandbox, type Sandbox } from './sandbox.ts';
import { takeArtifact } from './take-artifact.ts';
import { BuildFailure, type BuildRequest, type BuildResult } from './types.ts';

/** Reports of a build's process; longer ones are not ours. */
const REPORT_BYTES_MAX = 1024 * 1024;

/** Reasons for what builder/build.ts says; everything else is a failure of the build. */
const reasons: Readonly<Record<string, string>> = {
  too_large: 'artifact_too_large',
  write_failed: 'disk_full',
  not_supported: 'not_supported',
};

/**
 * Builds a deployment.
 *
 * @throws {BuildFailure}, or the reason of `request.signal`. No process of the build and none of its folders is left.
 * @example
 * const { artifactId } = await runBuild({ source: { url: 'https://git.example/a/b' }, branch: 'main', ... });
 */
export async function runBuild(request: BuildRequest): Promise<BuildResult> {
  request.signal.throwIfAborted();
  const sandbox = await openSandbox(request);
  try {
    request.onStep('clone');
    const { commit, paths } = await checkOut(request, sandbox);
    const told = withCommit(request, commit);
    const plan = await planBuild(told, sandbox.folders.source, paths, (root) => askLibrary(root, sandbox));
    request.onStep('install');
    const tools = await install(told, plan, sandbox);
    request.onStep('build');
    const id = await makeArtifact(told, plan, sandbox, tools);
    const { folders } = sandbox;
    const artifact = await takeArtifact(folders.artifact, id, request.artifactsFolder, request.limits);
    const saved = await tools.cache?.save().catch((error: unknown) => `The packages are not cached: ${String(error)}`);
    if (saved != null) request.onLine('artifact', 'info', saved);
    request.signal.throwIfAborted();
    request.onLine('artifact', 'info', `Artifact ${artifact.id} (${artifact.files} files, ${artifact.bytes} bytes)`);
    const { id: artifactId, folder, bytes, files, manifest } = artifact;
    return { artifactId, folder, kind: manifest.kind, name: plan.config.name, bytes, files, commit };
  } finally {
    await sandbox.close();
  }
}

/** Where the branch's tip was built, the commands know its commit too. */
function withCommit(request: BuildRequest, commit: BuildResult['commit']): BuildRequest {
  if (commit === null || request.platformVariables['PLATFORM_COMMIT']) return request;
  return { ...request, platformVariables: { ...request.platformVariables, PLATFORM_COMMIT: commit.sha } };
}

/** Runs the build command and the bundler in a process of the build's user. @returns the artifact's id, unverified. */
async function makeArtifact(
  request: BuildRequest,
  plan: BuildPlan,
  sandbox: Sandbox,
  tools: ToolEnvironment,
): Promise<string> {
  const { artifactBytesMax, artifactFilesMax, bundleBytesMax } = request.limits;
  const job: ChildJob = {
    what: 'build',
    root: plan.root,
    workspace: plan.workspace,
    config: plan.config,
    artifacts: sandbox.folders.artifact,
    variables: commandVariables(request, tools),
    limits: { artifactBytesMax, artifactFilesMax, bundleBytesMax },
  };
  if (plan.config.build !== null) request.onLine('build', 'info', `$ ${plan.config.build}`);
  const reader = reportReader((report) => {
    if (report.what === 'made') request.onStep('artifact');
    if (report.what === 'warning') request.onLine('artifact', 'warn', report.text);
  });
  const env = { ...baseVariables(sandbox.folders, []), PATH: tools.env['PATH'] ?? '' };
  const ended = await sandbox.run({
    words: childWords(),
    cwd: plan.root,
    env,
    readable: tools.readable,
    input: JSON.stringify(job),
    onOutput: (chunk) => request.onOutput('build', 'info', chunk),
    onReport: (chunk) => reader.take(chunk),
  });
  const failed = reader.find('failed');
  if (failed !== undefined) throw failureOf(failed, request);
  const made = reader.find('artifact');
  if (made !== undefined && ended.code === 0) return made.id;
  const how = ended.signal === null ? `with exit code ${ended.code}` : `by ${ended.signal}`;
  throw new BuildFailure('build_failed', `The process of the build was ended ${how} before it had made an artifact`);
}

/** What the build command gets; PATH only where the project sets it, for the library puts the project's tools there. */
function commandVariables(request: BuildRequest, { env }: ToolEnvironment): Record<string, string> {
  const { PATH: _own, ...others } = env;
  const path = request.variables['PATH'];
  return path === undefined ? others : { ...others, PATH: path };
}

function failureOf(
  { code, message }: Extract<ChildReport, { what: 'failed' }>,
  { limits }: BuildRequest,
): BuildFailure {
  // The bound of files and that of bytes have one code there.
  if (code === 'too_large' && message.includes('BUILD_ARTIFACT_MAX_FILES'))
    return new BuildFailure('artifact_too_many_files', message);
  if (code === 'platform' && /ENOSPC|EFBIG/.test(message))
    return new BuildFailure('disk_full', `The build has written too much (${limits.diskBytesMax} bytes are allowed)`);
  return new BuildFailure(reasons[code] ?? 'build_failed', message);
}

async function askLibrary(root: string, sandbox: Sandbox): Promise<readonly LibraryFramework[]> {
  const job: ChildJob = { what: 'detect', root, repository: sandbox.folders.source };
  const reader = reportReader(() => {});
  await sandbox.run({
    words: childWords(),
    cwd: root,
    env: baseVariables(sandbox.folders, []),
    readable: certificatePaths().map((path) => [path, path] as const),
    input: JSON.stringify(job),
    onReport: (chunk) => reader.take(chunk),
  });
  // One that cannot be asked has found nothing.
  return reader.find('detected')?.frameworks.filter(isFramework) ?? [];
}

function isFramework({ name, build, out }: LibraryFramework): boolean {
  const isText = (value: unknown): boolean => value === null || (typeof value === 'string' && value.length < 300);
  return typeof name === 'string' && name.length < 100 && isText(build) && isText(out);
}

function childWords(): string[] {
  return [...nodeCommand(), ...nodeFlags, CHILD];
}

/** Reads reports line by line. They come from a process of strangers: what is no report is left out. */
function reportReader(onEach: (report: ChildReport) => void): {
  take(chunk: Buffer): void;
  find<What extends ChildReport['what']>(what: What): Extract<ChildReport, { what: What }> | undefined;
} {
  const reports: ChildReport[] = [];
  let rest = '';
  let bytes = 0;
  return {
    take(chunk) {
      bytes += chunk.length;
      if (bytes > REPORT_BYTES_MAX) return;
      const lines = (rest + chunk.toString('utf8')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const report = parseReport(line);
        if (report === null) continue;
        reports.push(report);
        onEach(report);
      }
    },
    find: (what) => reports.find((report) => report.what === what) as never,
  };
}

function parseReport(line: string): ChildReport | null {
  try {
    const report = JSON.parse(line) as Record<string, unknown>;
    const isText = (key: string): boolean => typeof report[key] === 'string';
    switch (report['what']) {
      case 'made':
        return { what: 'made' };
      case 'warning':
        return isText('text') ? (report as ChildReport) : null;
      case 'artifact':
        return isText('id') ? (report as ChildReport) : null;
      case 'failed':
        return isText('code') && isText('message') ? (report as ChildReport) : null;
      case 'detected':
        return Array.isArray(report['frameworks']) ? (report as ChildReport) : null;
      default:
        return null;
    }
  } catch {
    return null;
  }
}
