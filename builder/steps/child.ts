// The build process that runs as the build's user: it runs the build command and creates the artifact, or runs the
// detection library. The process gets its input over standard input and reports on file descriptor 3. The parent
// process does not trust the reports: the artifact is checked again (take-artifact.ts). Started by run-build.ts.
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { build } from '../build/build.ts';
import { BuildError, formatBuildError } from '../project/build-error.ts';
import { runBuild } from '../command/build-step.ts';
import type { BuildConfig } from '../project/project.ts';
import type { LibraryFramework } from './library.ts';
import type { BuildRunLimits } from './types.ts';
import { startOutbound, type BuildOutbound } from './outbound/inside.ts';

/** The job to run. */
export type ChildJob =
  | { readonly what: 'detect'; readonly root: string; readonly repository: string }
  | {
      readonly what: 'build';
      readonly root: string;
      readonly workspace: string;
      readonly config: BuildConfig;
      readonly artifacts: string;
      readonly variables: Readonly<Record<string, string>>;
      readonly limits: Pick<BuildRunLimits, 'artifactBytesMax' | 'artifactFilesMax' | 'bundleBytesMax'>;
      /** Options of the build command. */
      readonly outbound: BuildOutbound | null;
    };

/** A line on file descriptor 3, as JSON. */
export type ChildReport =
  | { readonly what: 'made' }
  | { readonly what: 'warning'; readonly text: string }
  | { readonly what: 'detected'; readonly frameworks: readonly LibraryFramework[] }
  | { readonly what: 'artifact'; readonly id: string }
  | { readonly what: 'failed'; readonly code: string; readonly message: string };

const REPORT_FD = 3;
const FRAMEWORKS_MAX = 5;

/** The environment of a job: a separate process, except in tests. */
interface JobProcess {
  /** Variables inherited by the build command. */
  readonly environment: NodeJS.ProcessEnv;
  /** @returns a promise if the reader is slow. */
  write(text: string): void | Promise<unknown>;
  report(line: ChildReport): void;
}

if (process.argv[1] === import.meta.filename) await main();

async function main(): Promise<void> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += String(chunk);
  process.exitCode = await runJob(JSON.parse(text) as ChildJob, {
    environment: process.env,
    write: (output) => (process.stdout.write(output) ? undefined : once(process.stdout, 'drain')),
    report: (line) => void writeSync(REPORT_FD, `${JSON.stringify(line)}\n`),
  });
}

/** @returns the exit code; failures are sent as reports. */
export async function runJob(job: ChildJob, at: JobProcess): Promise<number> {
  try {
    if (job.what === 'detect') at.report({ what: 'detected', frameworks: await detectFrameworks(job) });
    else await buildArtifact(job, at);
    return 0;
  } catch (error) {
    const code = error instanceof BuildError ? error.code : 'platform';
    const message = error instanceof BuildError ? formatBuildError(error) : String((error as Error).stack ?? error);
    at.report({ what: 'failed', code, message: message.slice(0, 20_000) });
    return 1;
  }
}

async function buildArtifact(
  job: Extract<ChildJob, { what: 'build' }>,
  { environment, write, report }: JobProcess,
): Promise<void> {
  const { root, workspace, config, artifacts, variables, limits, outbound } = job;
  if (outbound !== null) await startOutbound(outbound);
  const made = await runBuild(root, config, {
    onOutput: write,
    inherited: environment,
    environment: variables,
    workspace,
    // The folder is a fresh checkout without output of an earlier build.
    isCheckout: true,
  });
  report({ what: 'made' });
  const artifact = await build({
    root,
    workspace,
    config,
    artifacts,
    limits,
    made,
    durable: false,
    onWarning: (text) => report({ what: 'warning', text: text.slice(0, 20_000) }),
  });
  report({ what: 'artifact', id: artifact.id });
}

/** The library is loaded only here, because this takes a sixth of a second and 27 MB. */
async function detectFrameworks({
  root,
  repository,
}: {
  root: string;
  repository: string;
}): Promise<LibraryFramework[]> {
  const [{ Project }, { NodeFS }] = await Promise.all([
    import('@netlify/build-info'),
    import('@netlify/build-info/node'),
  ]);
  const files = new NodeFS();
  files.logger = { debug() {}, log() {}, error() {}, info() {}, warn() {} };
  const project = new Project(files, root, repository)
    .setEnvironment({})
    .setNodeVersion(process.version)
    // Disables the library's error reporting.
    .setReportFn(() => {});
  const found = (await project.detectFrameworksInPath(project.baseDirectory)) ?? [];
  return found.slice(0, FRAMEWORKS_MAX).map((framework) => ({
    name: framework.name,
    build: framework.getBuildCommands()[0] ?? null,
    out: framework.build.directory || null,
  }));
}
