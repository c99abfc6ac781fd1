// The interface between builder/service/ (jobs, logs, leases) and builder/steps/ (checkout, install, build): the
// request and result of building a deployment from Git. Types, and the error.

import type { buildErrors } from '#core/errors/build.ts';
import { Failure } from '#core/failure.ts';
import type { BuildLimits } from '#core/limits.ts';
import type { Confinement } from '#core/process/confinement/types.ts';
import type { SandboxPlace } from '#core/sandbox/operations.ts';
import type { SandboxServiceClient } from '#core/sandbox/service-client.ts';
import type { OutboundRules } from './outbound/reach.ts';

/** The step of a build, as named in its log. The builder itself writes `queue` and `upload`. */
export type BuildStep = 'queue' | 'clone' | 'install' | 'build' | 'artifact' | 'upload';

/** Level of a log line. */
export type LineLevel = 'info' | 'warn' | 'error';

/** Where the sources come from. */
export type BuildSource =
  | {
      /** `https://host/path` or `ssh://user@host/path`; without credentials. */
      readonly url: string;
      /**
       * HTTP headers of the fetch, such as `Authorization`. The headers are never written to the disk, passed on a
       * command line or visible to a build.
       */
      readonly headers?: Readonly<Record<string, string>>;
      /** Private key for `ssh` in OpenSSH format; on disk only during the fetch. */
      readonly sshKey?: string;
      /** Lines of `known_hosts`; without them, the host's first key is accepted. */
      readonly sshKnownHosts?: string;
      /** The host's address at the time of the check: Git connects to it without another DNS lookup. */
      readonly address?: string;
      /** Whether `http:` is allowed, for the operator's own Git host in a private network. */
      readonly isPlainHttp?: boolean;
    }
  | {
      /** A folder of the platform: a bare repository (with `HEAD` and `objects`), or a source tree. */
      readonly folder: string;
    };

/** Limits of one build: `build` of core/limits.ts, and the limits of the artifact. */
export interface BuildRunLimits extends BuildLimits {
  readonly artifactBytesMax: number;
  readonly artifactFilesMax: number;
  readonly bundleBytesMax: number;
  /** Free disk space to keep. */
  readonly diskFreeBytesMin: number;
}

/** The project's settings on the platform: overridden by platform.yaml, override detection. Null: not set. */
export interface BuildSettings {
  readonly buildCommand: string | null;
  readonly outputDirectory: string | null;
  readonly installCommand: string | null;
}

/** The build sandbox of a project and branch. */
export interface BuildSandbox {
  readonly client: SandboxServiceClient;
  readonly place: SandboxPlace;
  /** Headers of each request, which contain the sandbox's options. */
  readonly headers: Readonly<Record<string, string>>;
  /** "Clear build cache": the sandbox is destroyed and recreated. */
  readonly isCleared: boolean;
  /** Whether the sandbox is destroyed after the attempt, for a build of a fork. */
  readonly isTransient: boolean;
  /** The program that creates the artifact inside the sandbox. By default, the program of this platform is used. */
  readonly program?: PackedProgram;
}

/** A program that is packed on demand. */
export interface PackedProgram {
  /** Hash of the program's files. */
  readonly hash: string;
  /** Path of child.ts in the archive. */
  readonly script: string;
  /** A gzipped tar file of about 12 MB, cached once created. */
  bytes(): Promise<Buffer>;
}

/** One attempt to build one deployment. */
export interface BuildRequest {
  readonly deploymentId: string;
  /** The project's name in hosts. */
  readonly project: string;
  readonly branch: string;
  /** Full hash; null means the newest commit of the branch. */
  readonly commit: string | null;
  readonly source: BuildSource;
  /** Folder of the project's platform.yaml in the repository; '' is the root. */
  readonly configPath: string;
  readonly settings: BuildSettings;
  /** The project's variables for its commands; none for a fork. */
  readonly variables: Readonly<Record<string, string>>;
  /**
   * `CI`, `PLATFORM_BRANCH`, `PLATFORM_COMMIT`, `PLATFORM_URL`, `PLATFORM_PR`; they override the project's variables.
   * If `commit` is null, the checkout sets `PLATFORM_COMMIT`.
   */
  readonly platformVariables: Readonly<Record<string, string>>;
  /** An empty folder of this attempt, created and deleted by the caller, for the checkout, home and temporary files. */
  readonly workFolder: string;
  /**
   * Cache kept between builds of the project; null means no cache (for forks; "clear cache" empties it). Each entry is
   * a direct child whose modification time is its last use: the oldest are deleted first.
   */
  readonly cacheFolder: string | null;
  /** Where to create the artifact's folder; on the same file system as the data folder. */
  readonly artifactsFolder: string;
  readonly limits: BuildRunLimits;
  readonly confinement: Confinement;
  /** Hosts that commands with their own network may reach. */
  readonly outbound: OutboundRules;
  /** Why the platform cannot run Node servers; null or absent if it can. */
  readonly noServers?: string | null;
  /**
   * Null means that commands run confined on this machine. With a sandbox, commands never run on this machine, even if
   * the sandbox fails.
   */
  readonly sandbox: BuildSandbox | null;
  /** Slot of this build among the concurrent builds, from 0. */
  readonly slot: number;
  readonly isFork: boolean;
  /**
   * Aborts when the build must end: canceled, timed out, lease lost. On abort, all processes are killed immediately,
   * and `signal.reason` is thrown unchanged.
   */
  readonly signal: AbortSignal;
  /** Called when another step begins. */
  readonly onStep: (step: BuildStep) => void;
  /** Logs a line of the platform. Secrets in the line are masked. */
  readonly onLine: (step: BuildStep, level: LineLevel, text: string) => void;
  /**
   * Receives raw command output in chunks of any size; the receiver decodes, splits, masks and limits it.
   */
  readonly onOutput: (step: BuildStep, level: LineLevel, chunk: Uint8Array) => void;
  /**
   * Registers a process group of this build, to be killed if the builder dies. @returns a function to call when the
   * process group has exited.
   */
  readonly onProcessGroup: (group: number) => () => void;
}

/** Result of a build. */
export interface BuildResult {
  readonly artifactId: string;
  /** `<artifactsFolder>/<artifactId>`, complete, flushed to disk, and owned by the user of this process. */
  readonly folder: string;
  readonly kind: 'static' | 'ssr' | 'dynamic';
  /** `name` of platform.yaml; null if not set. */
  readonly name: string | null;
  readonly bytes: number;
  readonly files: number;
  /** The built commit: full hash, first line of its message, author's name; null for a source tree. */
  readonly commit: { readonly sha: string; readonly message: string; readonly author: string } | null;
}

/** Builds a deployment. @throws {Failure} `build`, or the reason of `signal`. */
export type RunBuild = (request: BuildRequest) => Promise<BuildResult>;

/** The codes of builds that end without an artifact. */
export type BuildCode =
  | keyof typeof buildErrors
  // Codes that other parts of the platform use as well.
  | 'artifact_invalid'
  | 'artifact_too_large'
  | 'artifact_too_many_files'
  | 'build_failed'
  | 'disk_full'
  | 'not_supported'
  | 'sandbox_limit'
  | 'sandbox_unavailable'
  | 'storage_full';

/**
 * A build that ended without an artifact.
 *
 * @example
 * throw buildFailure('repository_empty', 'The repository has no commit on branch main');
 */
export function buildFailure(reason: BuildCode, message: string, options: ErrorOptions = {}): Failure<'build'> {
  const status = reason === 'build_timeout' ? 'timeout' : 'failure';
  return new Failure('build', message, { reason, status, ...options });
}
