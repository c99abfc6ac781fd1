// What the builder's process asks for and gets back when it builds a deployment from Git: the border between
// builder/service/ (jobs, logs, leases) and builder/steps/ (checkout, install, build). Types, and the one error.

import type { BuildLimits } from '#core/limits.ts';
import type { Confinement } from '#core/process/confinement/types.ts';
import type { SandboxPlace } from '#core/sandbox/operations.ts';
import type { SandboxServiceClient } from '#core/sandbox/service-client.ts';
import type { BuildWayOut } from './way-out/reach.ts';

/** Where a build is, as its log names it. The process itself writes `queue` and `upload`. */
export type BuildStep = 'queue' | 'clone' | 'install' | 'build' | 'artifact' | 'upload';

/** Of a line of the build log. */
export type LineLevel = 'info' | 'warn' | 'error';

/** Where the sources come from. */
export type BuildSource =
  | {
      /** `https://host/path` or `ssh://user@host/path`; without credentials. */
      readonly url: string;
      /** HTTP headers of the fetch, such as `Authorization`. Never on disk, on a command line or in a build. */
      readonly headers?: Readonly<Record<string, string>>;
      /** Private key of `ssh`, as OpenSSH writes it; on disk only while the fetch lasts. */
      readonly sshKey?: string;
      /** Lines of `known_hosts`; without them the host's key of the first connection is taken. */
      readonly sshKnownHosts?: string;
      /** Address that was checked for this host: Git connects to it whatever DNS says by then. */
      readonly address?: string;
      /** `http:` is allowed: the operator's own Git host in a private network. */
      readonly isPlainHttp?: boolean;
    }
  | {
      /** A folder of the platform's own: a bare repository (with `HEAD` and `objects`), or a tree of sources. */
      readonly folder: string;
    };

/** Bounds of one build: `build` of core/limits.ts, and those of the artifact. */
export interface BuildRunLimits extends BuildLimits {
  readonly artifactBytesMax: number;
  readonly artifactFilesMax: number;
  readonly bundleBytesMax: number;
  /** What of the disk stays free. */
  readonly diskFreeBytesMin: number;
}

/** Settings of the project on the platform: below platform.yaml, above detection. Null: not set. */
export interface BuildSettings {
  readonly buildCommand: string | null;
  readonly outputDirectory: string | null;
  readonly installCommand: string | null;
}

/** The sandbox of the sandbox service that a project and branch are built in. */
export interface BuildSandbox {
  readonly client: SandboxServiceClient;
  readonly place: SandboxPlace;
  /** Headers of each request: what the sandbox is made of. */
  readonly headers: Readonly<Record<string, string>>;
  /** "Clear build cache": it is destroyed, and made anew. */
  readonly isCleared: boolean;
  /** Nothing of it stays after the attempt: a build of a fork. */
  readonly isTransient: boolean;
  /** What makes the artifact inside; default: the program of this platform. */
  readonly program?: PackedProgram;
}

/** A program that is packed when it is asked for. */
export interface PackedProgram {
  /** Of its files: two that are the same have the same. */
  readonly hash: string;
  /** Path of child.ts in the archive. */
  readonly script: string;
  /** A tar file, compressed with gzip: about 12 MB, kept once it is made. */
  bytes(): Promise<Buffer>;
}

/** One attempt at one deployment. */
export interface BuildRequest {
  readonly deploymentId: string;
  /** Name in hosts. */
  readonly project: string;
  readonly branch: string;
  /** Full hash; null: the branch's newest. */
  readonly commit: string | null;
  readonly source: BuildSource;
  /** Folder of the project's platform.yaml in the repository; '' is the root. */
  readonly configPath: string;
  readonly settings: BuildSettings;
  /** The project's own, for its commands. Of a fork: none. */
  readonly variables: Readonly<Record<string, string>>;
  /**
   * `CI`, `PLATFORM_BRANCH`, `PLATFORM_COMMIT`, `PLATFORM_URL`, `PLATFORM_PR`; they go before the project's own. Where
   * `commit` is null, the checkout says `PLATFORM_COMMIT`.
   */
  readonly platformVariables: Readonly<Record<string, string>>;
  /** Empty, of this attempt alone, made and removed by the caller. Checkout, home and temporary files lie below. */
  readonly workFolder: string;
  /**
   * Kept between builds of the project; null: nothing is kept or used (forks, "clear cache" makes it empty). Each entry
   * is a folder or file directly below, whose modification time is set when it is used: the oldest go first.
   */
  readonly cacheFolder: string | null;
  /** Where the artifact's folder is made; on the file system of the data folder. */
  readonly artifactsFolder: string;
  readonly limits: BuildRunLimits;
  readonly confinement: Confinement;
  /** What commands with a network of their own may reach. */
  readonly wayOut: BuildWayOut;
  /** Why the platform cannot run servers for Node; null or absent: no reason is known. */
  readonly noServers?: string | null;
  /** Null: commands run on this machine, confined. Else none of them do, whatever becomes of the sandbox. */
  readonly sandbox: BuildSandbox | null;
  /** Number of this build among those that run at a time, from 0. */
  readonly slot: number;
  readonly isFork: boolean;
  /**
   * Aborts when the build must end: canceled, out of time, lease lost. All processes are killed at once then, and
   * `signal.reason` is thrown as it is.
   */
  readonly signal: AbortSignal;
  /** Another step begins. */
  readonly onStep: (step: BuildStep) => void;
  /** A line of the platform's own. Secrets in it are masked. */
  readonly onLine: (step: BuildStep, level: LineLevel, text: string) => void;
  /**
   * Bytes as a command wrote them, in chunks of any size: they are decoded, parted into lines, masked and bounded by
   * the receiver.
   */
  readonly onOutput: (step: BuildStep, level: LineLevel, chunk: Uint8Array) => void;
  /**
   * A process group was started for this build: it is killed should the builder die. @returns what to call when it is
   * gone.
   */
  readonly onProcessGroup: (group: number) => () => void;
}

/** What a build made. */
export interface BuildResult {
  readonly artifactId: string;
  /** `<artifactsFolder>/<artifactId>`, complete, on the disk, and owned by the user of this process. */
  readonly folder: string;
  readonly kind: 'static' | 'ssr' | 'dynamic';
  /** `name` of platform.yaml; null where it says none. */
  readonly name: string | null;
  readonly bytes: number;
  readonly files: number;
  /** What was built: full hash, first line of its message, author's name; null for a tree of sources. */
  readonly commit: { readonly sha: string; readonly message: string; readonly author: string } | null;
}

/** Builds a deployment. @throws {BuildFailure}, or the reason of `signal`. */
export type RunBuild = (request: BuildRequest) => Promise<BuildResult>;

/**
 * A build that ended without an artifact.
 *
 * @example
 * throw new BuildFailure('repository_empty', 'The repository has no commit on branch main');
 */
export class BuildFailure extends Error {
  /** For programs: `build_failed`, `artifact_too_large`, `repository_unavailable`, `skipped`, ... */
  readonly reason: string;
  readonly status: 'failure' | 'timeout' | 'canceled';

  constructor(
    reason: string,
    message: string,
    options: { readonly status?: BuildFailure['status']; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'BuildFailure';
    this.reason = reason;
    this.status = options.status ?? 'failure';
  }
}
