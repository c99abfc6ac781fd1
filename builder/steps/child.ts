// The process of a build that runs as the build's own user: it runs the build command and makes the artifact, or asks
// the detection library. What it needs comes over standard input, what it found goes to file descriptor 3, and its
// parent believes none of that: the artifact is checked again (take-artifact.ts). Started by run-build.ts.
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { build } from '../build/build.ts';
import { BuildError, formatBuildError } from '../project/build-error.ts';
import { runBuild } from '../command/build-step.ts';
import type { BuildConfig } from '../project/project.ts';
import type { LibraryFramework } from './library.ts';
import type { BuildRunLimits } from './types.ts';
import { startWayOut, type InsideWayOut } from './way-out/inside.ts';

/** What to do. */
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
      /** Of the build command. */
      readonly wayOut: InsideWayOut | null;
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

/** Where a job runs: a process of its own, but for tests. */
export interface JobProcess {
  /** What the build command inherits. */
  readonly environment: NodeJS.ProcessEnv;
  /** @returns a promise when the reader is behind. */
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

/** @returns the exit code: what failed is reported. */
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
  const { root, workspace, config, artifacts, variables, limits, wayOut } = job;
  if (wayOut !== null) await startWayOut(wayOut);
  const made = await runBuild(root, config, {
    onOutput: write,
    inherited: environment,
    environment: variables,
    workspace,
    // What is there comes from the repository: nothing was left by an earlier build.
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

/** Loaded here alone: it takes a sixth of a second and 27 MB. */
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
    // Its makers' error reports.
    .setReportFn(() => {});
  const found = (await project.detectFrameworksInPath(project.baseDirectory)) ?? [];
  return found.slice(0, FRAMEWORKS_MAX).map((framework) => ({
    name: framework.name,
    build: framework.getBuildCommands()[0] ?? null,
    out: framework.build.directory || null,
  }));
}
