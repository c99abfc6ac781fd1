// One attempt at one claimed build, from its row to its release: reads the input, runs the steps, stores the artifact,
// and records the result. Called by builder.ts, which renews the lease during the attempt.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { EncryptionKeys } from '#core/encryption.ts';
import { Failure, isFailure } from '#core/failure.ts';
import type { Limits } from '#core/limits.ts';
import type { ArtifactStore } from '#artifacts/store/artifact-store.ts';
import { storeProblem } from '#artifacts/store/stored.ts';
import { takeArtifact } from '#artifacts/store/take-artifact.ts';
import type { Sql } from '#postgres/sql.ts';
import type { Confinement } from '#core/process/confinement/types.ts';
import { OPTIONS_HEADER, type MachineSize } from '#core/sandbox/options.ts';
import type { SandboxServiceClient } from '#core/sandbox/service-client.ts';
import { buildPlace } from '../steps/build-sandbox/place.ts';
import { buildFailure, type BuildResult, type BuildSandbox, type RunBuild } from '../steps/types.ts';
import type { OutboundRules } from '../steps/outbound/reach.ts';
import { readBuildInput, type BuildInput, type PublicAddress } from './jobs/build-input.ts';
import {
  canceled,
  endBuild,
  handToRelease,
  markUploading,
  releaseBuild,
  type BuildEnd,
  type BuildJob,
} from './jobs/jobs.ts';
import { findSource, refuseUnscoped, type FindRemote } from './jobs/source.ts';
import { retryUntilAvailable } from './jobs/postgres-errors.ts';
import { openBuildLog, type BuildLog } from './log/build-log.ts';
import { plainLines } from './log/lines.ts';
import { createMasks } from './log/masks.ts';
import { spaceFailure } from './machine/disk-space.ts';
import type { ProcessGuard } from './machine/process-guard.ts';
import { cacheOf } from './retention.ts';

/** Dependencies shared by all attempts. */
export interface AttemptDeps {
  readonly sql: Sql;
  readonly log: Logger;
  readonly keys: EncryptionKeys;
  /** Data folder (`FS_PATH`). */
  readonly folder: string;
  /** Artifacts of all machines. */
  readonly artifacts: ArtifactStore;
  /** Parent of checkouts and caches. */
  readonly folders: WorkFolders;
  readonly address: PublicAddress;
  readonly limits: Limits;
  readonly confinement: Confinement;
  readonly outbound: OutboundRules;
  /** Of {@link BuildRequest}. */
  readonly noServers: string | null;
  readonly guard: ProcessGuard;
  readonly runBuild: RunBuild;
  readonly findRemote: FindRemote;
  /** Null if all builds run on this machine. */
  readonly sandboxes: SandboxBuilds | null;
}

/** Builds in sandboxes of the sandbox service. */
export interface SandboxBuilds {
  readonly client: SandboxServiceClient;
  /** The builder claims only builds of these organizations; null means all. */
  readonly organizations: ReadonlySet<string> | null;
  /** Size of the machines; null means the default of sandboxes. */
  readonly machine: MachineSize | null;
}

/** Folders used by builds. */
export interface WorkFolders {
  /** Each attempt has its own folder. */
  readonly work: string;
  /** Caches of projects, see {@link cacheOf}. */
  readonly caches: string;
  /** Artifacts that are not stored yet; on the same disk as the data folder. */
  readonly made: string;
}

/** How long to wait for the steps after an abort. */
const ABORT_MS_MAX = 15_000;

/**
 * Resolves when the attempt has finished and its files are deleted.
 *
 * @param ending aborted with a failure `lease_lost` or `process_stopped`, or with the `build` to record as the result.
 */
export async function attemptBuild(
  deps: AttemptDeps,
  job: BuildJob,
  slot: number,
  ending: AbortController,
): Promise<void> {
  const { sql } = deps;
  const began = performance.now();
  const took = (): number => Math.round(performance.now() - began);
  const { signal } = ending;
  let log: BuildLog | null = null;
  const timeout = setTimeout(() => {
    const { timeoutMs } = deps.limits.build;
    ending.abort(buildFailure('build_timeout', `The build took longer than ${timeoutMs} ms (BUILD_TIMEOUT_MS)`));
  }, deps.limits.build.timeoutMs);
  const name = `${job.deploymentId}-${job.attempt}`;
  const work = join(deps.folders.work, name);
  const made = join(deps.folders.made, name);
  try {
    const input = await retryUntilAvailable(() => readBuildInput(sql, deps.keys, deps.address, job), signal);
    if (input === null) return;
    const steps = async (): Promise<BuildResult> => {
      const sandbox = sandboxOf(deps.sandboxes, input, job);
      if (sandbox === null) refuseUnconfined(deps.confinement, input);
      else refuseUnscoped(input.repository);
      const cacheFolder = input.isFork ? null : join(deps.folders.caches, cacheOf(job.projectId, input.target));
      // The cache is also deleted for an organization over its storage limit, because caches may be what uses the
      // storage.
      if (cacheFolder !== null && job.input.clearCache === true)
        await rm(cacheFolder, { recursive: true, force: true });
      if (input.isStorageFull)
        throw buildFailure(
          'storage_full',
          'The storage of this organization is full: delete unused data (the Usage page lists the largest items), or ask the operator for a larger plan',
        );
      for (const place of [deps.folder, deps.folders.work]) {
        const failure = await spaceFailure(place, deps.limits.diskFreeBytesMin);
        if (failure !== null) throw failure;
      }
      const { source, secrets } = await findSource(input.repository, deps.folder, deps.findRemote);
      log = openLog(deps, job, input, secrets, ending);
      log.line('queue', 'info', describe(input, job));
      await mkdir(work, { recursive: true, mode: 0o700 });
      await mkdir(made, { recursive: true, mode: 0o700 });
      if (cacheFolder !== null) await mkdir(cacheFolder, { recursive: true, mode: 0o700 });
      return runSteps(deps, job, input, { source, work, made, cacheFolder, sandbox, slot, log, ending });
    };
    let result: BuildResult;
    try {
      signal.throwIfAborted();
      result = await steps();
      signal.throwIfAborted();
    } catch (error) {
      // A build that fails before its sources are known also has a log.
      log ??= openLog(deps, job, input, [], ending);
      return await finish(deps, job, log, signal.aborted ? signal.reason : error, took());
    }
    if (log !== null) await store(deps, job, log, result, took, signal);
  } catch (error) {
    await finish(deps, job, log, signal.aborted ? signal.reason : error, took());
  } finally {
    clearTimeout(timeout);
    (log as BuildLog | null)?.close();
    for (const folder of [work, made])
      await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch((error: unknown) =>
        deps.log.error({ error: (error as Error).message, folder }, 'The folder of a build could not be removed'),
      );
  }
}

function openLog(
  deps: AttemptDeps,
  job: BuildJob,
  input: BuildInput,
  secrets: readonly string[],
  ending: AbortController,
): BuildLog {
  return openBuildLog({
    sql: deps.sql,
    deploymentId: job.deploymentId,
    job,
    firstSeq: input.firstSeq,
    masks: createMasks([...input.secrets, ...secrets]),
    bytesMax: deps.limits.build.logBytesMax,
    lineCharsMax: deps.limits.build.logLineCharsMax,
    onLeaseLost: () => ending.abort(new Failure('lease_lost', 'Another builder has taken over the build')),
    onTrouble: (error) =>
      deps.log.error(
        { deployment: job.deploymentId, error: (error as Error).message },
        'The build log could not be written',
      ),
  });
}

function describe({ branch, commit, project }: BuildInput, { attempt, attemptsMax }: BuildJob): string {
  const what = `${project}, branch ${branch}${commit === null ? '' : `, commit ${commit.slice(0, 12)}`}`;
  return attempt === 1
    ? `Building ${what}`
    : `Building ${what} again: the builder was lost during the attempt before (attempt ${attempt} of ${attemptsMax})`;
}

/** @throws {Failure} `build` when untrusted code would run with the platform's permissions. */
function refuseUnconfined({ kind, reason }: Confinement, { isFirst, isFork }: BuildInput): void {
  if (kind !== 'none' || (isFirst && !isFork)) return;
  throw buildFailure(
    'not_confined',
    `Builds cannot be confined on this machine, so only the first admin's organization builds here${reason === null ? '' : `: ${reason}`}`,
  );
}

/** Null if the build runs on this machine. */
function sandboxOf(sandboxes: SandboxBuilds | null, input: BuildInput, job: BuildJob): BuildSandbox | null {
  if (sandboxes === null || sandboxes.organizations?.has(input.organizationId) === false) return null;
  const { client } = sandboxes;
  // The options are sent every time, so that a removed setting takes effect too.
  const machine = input.buildMachine ?? sandboxes.machine;
  return {
    client,
    place: buildPlace(input.project, input.branch),
    headers: { [OPTIONS_HEADER]: encodeURIComponent(JSON.stringify({ machine })) },
    isCleared: job.input.clearCache === true,
    isTransient: input.isFork,
  };
}

interface StepDeps {
  readonly source: Awaited<ReturnType<typeof findSource>>['source'];
  readonly work: string;
  readonly made: string;
  readonly cacheFolder: string | null;
  readonly sandbox: BuildSandbox | null;
  readonly slot: number;
  readonly log: BuildLog;
  readonly ending: AbortController;
}

async function runSteps(
  deps: AttemptDeps,
  job: BuildJob,
  input: BuildInput,
  { source, work, made, cacheFolder, sandbox, slot, log, ending }: StepDeps,
): Promise<BuildResult> {
  const { limits } = deps;
  const { signal } = ending;
  try {
    const building = deps.runBuild({
      deploymentId: job.deploymentId,
      project: input.project,
      branch: input.branch,
      commit: input.commit,
      source,
      configPath: input.configPath,
      settings: input.settings,
      variables: input.variables,
      platformVariables: input.platformVariables,
      workFolder: work,
      cacheFolder,
      artifactsFolder: made,
      limits: { ...limits.build, ...limits },
      confinement: deps.confinement,
      outbound: deps.outbound,
      noServers: deps.noServers,
      sandbox,
      slot,
      isFork: input.isFork,
      signal,
      onStep: (step) => deps.log.debug({ deployment: job.deploymentId, step }, 'Build step'),
      onLine: log.line,
      onOutput: log.output,
      onProcessGroup: deps.guard.add,
    });
    return await Promise.race([building, afterAbort(signal)]);
  } finally {
    log.end();
  }
}

/** Rejects some time after an abort, if the steps have not ended by then. */
function afterAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => setTimeout(() => reject(signal.reason as Error), ABORT_MS_MAX).unref());
  });
}

async function store(
  deps: AttemptDeps,
  job: BuildJob,
  log: BuildLog,
  result: BuildResult,
  took: () => number,
  signal: AbortSignal,
): Promise<void> {
  const { sql, limits } = deps;
  checkArtifact(result, limits);
  // Followers of the log see all of the build's lines before its next status.
  await log.flush();
  signal.throwIfAborted();
  if (!(await retryUntilAvailable(() => markUploading(sql, job), signal)))
    throw new Failure('lease_lost', 'Another builder has taken over the build');
  // The API reads the artifact from the shared store, so it is not kept on this machine.
  if (!deps.artifacts.isShared) await takeArtifact(deps.folder, result.artifactId, result.folder);
  else
    await deps.artifacts.upload(result.artifactId, result.folder).catch((error: unknown) => {
      if (!isFailure(error, 'artifact_store')) throw error;
      throw buildFailure('artifact_not_stored', storeProblem('The artifact could not be stored', error), {
        cause: error,
      });
    });
  log.line(
    'upload',
    'info',
    `Stored ${result.files} files, ${result.bytes} bytes; built in ${(took() / 1000).toFixed(1)} s`,
  );
  await log.flush();
  signal.throwIfAborted();
  const handed = await retryUntilAvailable(() => handToRelease(sql, job, result, took()), signal);
  if (handed === false) throw new Failure('lease_lost', 'Another builder has taken over the build');
  if (handed !== true) throw failureOf(canceled(handed.cancelReason, null));
  deps.log.info({ deployment: job.deploymentId, project: job.projectId, ms: took() }, 'Build done');
}

/** @throws {Failure} `build` */
function checkArtifact({ bytes, files }: BuildResult, { artifactBytesMax, artifactFilesMax }: Limits): void {
  if (bytes > artifactBytesMax)
    throw buildFailure(
      'artifact_too_large',
      `The artifact has ${bytes} bytes; ${artifactBytesMax} are allowed (BUILD_ARTIFACT_MAX_BYTES)`,
    );
  if (files > artifactFilesMax)
    throw buildFailure(
      'artifact_too_many_files',
      `The artifact has ${files} files; ${artifactFilesMax} are allowed (BUILD_ARTIFACT_MAX_FILES)`,
    );
}

/** The failure with which a running build is canceled. */
export function cancelFailure(reason: string): Failure<'build'> {
  return failureOf(canceled(reason, null));
}

function failureOf({ reason, message }: BuildEnd): Failure<'build'> {
  return new Failure('build', message ?? 'The build was canceled', { reason, status: 'canceled' });
}

/** Records the result; a stopped attempt will be retried, or belongs to another builder. */
async function finish(
  deps: AttemptDeps,
  job: BuildJob,
  log: BuildLog | null,
  error: unknown,
  buildMs: number,
): Promise<void> {
  const { sql } = deps;
  if (isFailure(error, 'lease_lost', 'process_stopped')) {
    deps.log.info({ deployment: job.deploymentId, why: error.kind }, 'Build stopped');
    if (error.kind === 'lease_lost') return;
    log?.line('queue', 'warn', 'The builder is stopped: the build begins again when the platform is back');
    // The platform is stopping: Postgres may be unavailable, and the lease will expire.
    await Promise.race([log?.flush(), pauseFor(FAREWELL_MS_MAX)]);
    await releaseBuild(sql, job).catch(() => {});
    return;
  }
  const failure = isFailure(error, 'build') ? error : null;
  if (failure === null)
    deps.log.error({ deployment: job.deploymentId, err: error }, 'Build failed because of an error of the platform');
  const end: BuildEnd = {
    status: failure?.status ?? 'failure',
    reason: failure?.reason ?? 'internal_error',
    message: storedMessage(
      failure?.message ?? 'The platform could not finish the build: its log says why. Deploy again',
      log,
    ),
    buildMs,
  };
  log?.line('build', end.status === 'canceled' ? 'warn' : 'error', end.message ?? end.reason);
  await log?.flush();
  const ended = await retryUntilAvailable(() => endBuild(sql, job, end));
  const { status, reason } = end;
  const why = failure?.cause instanceof Error ? { why: failure.cause.message } : {};
  if (ended) deps.log.info({ deployment: job.deploymentId, status, reason, ms: buildMs, ...why }, 'Build ended');
}

/** Masks secrets: messages may quote command output, and are shown to members and reported to the Git host. */
function storedMessage(message: string, log: BuildLog | null): string {
  const shown = log === null ? plainLines(message) : log.shown(message);
  return shown.slice(0, MESSAGE_CHARS_MAX).toWellFormed();
}

const MESSAGE_CHARS_MAX = 20_000;
const FAREWELL_MS_MAX = 1000;

function pauseFor(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
