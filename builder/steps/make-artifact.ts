// Runs the platform's build program (child.ts) next to untrusted code, and interprets its reports. Called by
// run-build.ts and by build-sandbox/; the fence decides where it runs.
import type { Failure } from '#core/failure.ts';
import { nodeFlags } from '#core/node-flags.mjs';
import type { Artifact } from '../build/artifact.ts';
import type { ChildJob, ChildReport } from './child.ts';
import type { ToolEnvironment } from './install.ts';
import type { LibraryFramework } from './library.ts';
import type { BuildPlan } from './plan.ts';
import type { Fence } from './fence.ts';
import { noRoom } from './disk-watch.ts';
import { buildFailure, type BuildCode, type BuildRequest, type BuildResult } from './types.ts';

/** How a fence runs the program. */
export interface BuildProgram {
  /** The command that starts Node, with prefixes. */
  readonly node: readonly string[];
  /** Path of child.ts. */
  readonly script: string;
  readonly env: Readonly<Record<string, string>>;
  readonly readable?: readonly (readonly [from: string, to: string])[];
}

/** Maximum length of a report; longer reports are not from our code. */
const REPORT_BYTES_MAX = 1024 * 1024;

/** Reasons for errors of builder/build/build.ts; all others are `build_failed`. */
const reasons: ReadonlyMap<string, BuildCode> = new Map([
  ['too_large', 'artifact_too_large'],
  ['not_supported', 'not_supported'],
]);

/** Runs the build command and the bundler in a process of the build's user. @returns the artifact's id, unverified. */
export async function makeArtifact(
  request: BuildRequest,
  plan: BuildPlan,
  fence: Fence,
  { tools, program }: { readonly tools: ToolEnvironment; readonly program: BuildProgram },
): Promise<string> {
  const { artifactBytesMax, artifactFilesMax, bundleBytesMax } = request.limits;
  const job: ChildJob = {
    what: 'build',
    root: plan.root,
    workspace: plan.workspace,
    config: plan.config,
    artifacts: fence.folders.artifact,
    variables: commandVariables(request, tools),
    limits: { artifactBytesMax, artifactFilesMax, bundleBytesMax },
    outbound: fence.outbound,
  };
  const { build } = plan.config;
  request.onLine('build', 'info', build === null ? 'There is no build command' : `$ ${build}`);
  const reader = reportReader((report) => {
    if (report.what === 'made') request.onStep('artifact');
    if (report.what === 'warning') request.onLine('artifact', 'warn', report.text);
  });
  const ended = await fence.run({
    words: wordsOf(program),
    cwd: plan.root,
    env: { ...program.env, PATH: tools.env['PATH'] ?? '' },
    readable: tools.readable,
    input: JSON.stringify(job),
    network: 'outbound',
    onOutput: (chunk) => request.onOutput('build', 'info', chunk),
    onReport: (chunk) => reader.take(chunk),
  });
  const failed = reader.find('failed');
  if (failed !== undefined) throw failureOf(failed, request);
  const made = reader.find('artifact');
  if (made !== undefined && ended.code === 0) return made.id;
  const how = ended.signal === null ? `with exit code ${ended.code}` : `by ${ended.signal}`;
  throw buildFailure('build_failed', `The process of the build was ended ${how} before it had made an artifact`);
}

/** Runs the detection library. */
export async function askLibrary(
  root: string,
  fence: Fence,
  program: BuildProgram,
): Promise<readonly LibraryFramework[]> {
  const job: ChildJob = { what: 'detect', root, repository: fence.folders.source };
  const reader = reportReader(() => {});
  await fence.run({
    words: wordsOf(program),
    cwd: root,
    env: program.env,
    ...(program.readable !== undefined && { readable: program.readable }),
    input: JSON.stringify(job),
    onReport: (chunk) => reader.take(chunk),
  });
  // If the process fails, no framework was detected.
  return reader.find('detected')?.frameworks.filter(isFramework) ?? [];
}

function wordsOf({ node, script }: BuildProgram): string[] {
  return [...node, ...nodeFlags, script];
}

/** Variables of the build command; PATH only if the project sets it, since the library prepends the project's tools. */
function commandVariables(request: BuildRequest, { env }: ToolEnvironment): Record<string, string> {
  const { PATH: _own, ...others } = env;
  const path = request.variables['PATH'];
  return path === undefined ? others : { ...others, PATH: path };
}

/** @returns the failure shown to the author of the project. */
export function failureOf(
  { code, message }: Extract<ChildReport, { what: 'failed' }>,
  { limits }: BuildRequest,
): Failure<'build'> {
  // The child process reports the same code for too many files and too many bytes.
  if (code === 'too_large' && message.includes('BUILD_ARTIFACT_MAX_FILES'))
    return buildFailure('artifact_too_many_files', message);
  if (code === 'platform' && /ENOSPC|EFBIG/.test(message))
    return buildFailure('disk_full', `The build has written too much (${limits.diskBytesMax} bytes are allowed)`);
  // The message contains the folder and the free disk space.
  if (code === 'write_failed') return noRoom(message);
  return buildFailure(reasons.get(code) ?? 'build_failed', message);
}

function isFramework({ name, build, out }: LibraryFramework): boolean {
  const isText = (value: unknown): boolean => value === null || (typeof value === 'string' && value.length < 300);
  return typeof name === 'string' && name.length < 100 && isText(build) && isText(out);
}

/** A build's report about its artifact. */
export function resultOf(
  { id, folder, bytes, files, manifest }: Artifact,
  name: string | null,
  commit: BuildResult['commit'],
): BuildResult {
  return { artifactId: id, folder, kind: manifest.kind, name, bytes, files, commit };
}

/** If the branch's tip was built, the commands also get its commit. */
export function withCommit(request: BuildRequest, commit: BuildResult['commit']): BuildRequest {
  if (commit === null || request.platformVariables['PLATFORM_COMMIT']) return request;
  return { ...request, platformVariables: { ...request.platformVariables, PLATFORM_COMMIT: commit.sha } };
}

/** Parses reports line by line. Reports are untrusted: invalid ones are ignored. */
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
