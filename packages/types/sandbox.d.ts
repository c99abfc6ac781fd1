// Sandboxes: `sandbox` in platform.yaml.

/**
 * Result of a command in a sandbox. A failed command also has a result, and no error is thrown: errors mean that the
 * sandbox failed.
 */
export interface SandboxExecResult {
  readonly stdout: string;
  readonly stderr: string;
  /** 124 if the command timed out; 128 plus the signal's number if a signal ended it. */
  readonly exitCode: number;
  /** Whether the exit code is 0. */
  readonly success: boolean;
  readonly durationMs: number;
  /** Whether more than 10 MiB were written to stdout or stderr, and the rest was dropped. */
  readonly truncated: boolean;
  /** Whether the command was ended at `timeoutMs`. */
  readonly timedOut: boolean;
}

/** Options of a command. */
export interface SandboxExecOptions {
  /** Working directory; `/workspace` by default. */
  cwd?: string;
  /** Variables in addition to those of the sandbox. */
  env?: Record<string, string>;
  /** Time limit of the command: 60,000 by default, at most 600,000. Start a process for longer work. */
  timeoutMs?: number;
  /** Input of the command, at most 1 MiB. */
  stdin?: string | Uint8Array;
  /** Ends the command and everything it started. */
  signal?: AbortSignal;
}

/** Program and size of a terminal. */
export interface SandboxTerminalOptions {
  /** A text for a shell, or a list of a program and its arguments; by default a login shell, bash if available. */
  command?: string | readonly string[];
  /** Columns, 80 by default, at most 1,000. */
  cols?: number;
  /** Rows, 24 by default, at most 1,000. */
  rows?: number;
  /** Working directory; `/workspace` by default. */
  cwd?: string;
  /** Variables in addition to those of the sandbox; `TERM` defaults to `xterm-256color`. */
  env?: Record<string, string>;
  /** Hangs up: `readable` and `exited` fail with its reason. */
  signal?: AbortSignal;
}

/** A terminal in a sandbox. A terminal lasts at most as long as its caller: the invocation, or the request. */
export interface SandboxTerminal {
  /**
   * The output, with escape sequences. The program waits while the output is not read; cancelling the stream hangs up.
   */
  readonly readable: ReadableStream<Uint8Array>;
  /** The input: Ctrl-C is `\x03`. Closing the stream is the end of input for each program that reads. */
  readonly writable: WritableStream<Uint8Array | string>;
  /** Changes the columns and rows, each 1 to 1,000. Of several concurrent changes, the last one counts. */
  resize(cols: number, rows: number): Promise<void>;
  /**
   * Resolves to the exit code of the program, when all but the last 64 KiB of its output have been read. The code is
   * 128 plus the signal's number if a signal ended the program.
   */
  readonly exited: Promise<{ readonly exitCode: number; readonly signal?: string }>;
  /** Hangs up: programs of the terminal get SIGHUP, and those left after two seconds SIGKILL. */
  close(): void;
}

/** A background process in a sandbox. */
export interface SandboxProcess {
  readonly id: string;
  readonly pid: number;
  readonly command: string;
  readonly status: 'running' | 'completed' | 'failed';
  /** Exit code; null while the process runs. */
  readonly exitCode: number | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** An entry of a folder in a sandbox. */
export interface SandboxFile {
  readonly name: string;
  readonly path: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'other';
  /** Bytes, of a file. */
  readonly size?: number;
}

/** Machine size of a sandbox. */
export type SandboxMachine = 'small' | 'default' | 'large' | 'xlarge';

/** Network access of a sandbox, within the operator's limits. `allow`: host names; `*.name` includes all subdomains. */
export interface SandboxEgress {
  mode: 'all' | 'none' | 'allow';
  /** Allowed hosts with mode `allow`, at most 100. */
  allow?: readonly string[];
}

/**
 * Options of a sandbox. Omitted options are unchanged; null restores the operator's default. If the options of a call
 * differ from the sandbox's, the machine is recreated before the call. Its files are kept, its processes end.
 */
export interface SandboxOptions {
  /** Processors and memory: 1 and 2 GiB, 2 and 4, 4 and 8, 8 and 16. */
  machine?: SandboxMachine | null;
  /** One of the images that the operator allows. */
  image?: string | null;
  egress?: SandboxEgress | null;
  /** Whether commands get a token for the AI gateway (`PLATFORM_AI_TOKEN_FILE`): by default if there is a gateway. */
  ai?: boolean | null;
  /** The snapshot with the initial files of a new sandbox. Otherwise ignored. */
  snapshot?: string | null;
}

/** The files of a sandbox at a moment. */
export interface SandboxSnapshot {
  readonly id: string;
  /** The original sandbox. */
  readonly of: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Size on disk. */
  readonly sizeBytes: number;
}

/** State of a sandbox. */
export interface SandboxInfo {
  readonly id: string;
  /**
   * `suspended` and `stopped` sandboxes start again with the next call; a stopped sandbox has its files, but no
   * processes.
   */
  readonly state: 'creating' | 'running' | 'suspended' | 'stopped' | 'error';
  readonly provider: string;
  /** The requested machine; null means the operator's default. */
  readonly machine: SandboxMachine | null;
  readonly image: string | null;
  readonly egress: SandboxEgress | null;
  readonly ai: boolean | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly lastActiveAt: number;
}

/**
 * An error of a sandbox call, by `code`: `invalid_argument`; `file_not_found`, `file_exists`, `file_type`,
 * `file_forbidden`, `sandbox_disk_full`; `process_not_found`, `process_exists`; `port_unreachable`; `git_failed`;
 * `terminal_unavailable`; `sandbox_limit`; `sandbox_option_refused`; `sandbox_copy_refused`, `sandbox_exists`,
 * `snapshot_not_found`; `sandbox_unavailable` and `sandbox_lost` (retry), `sandbox_destroyed`.
 */
export interface SandboxError extends Error {
  readonly name: 'SandboxError';
  readonly code: string;
}

/** A port of a sandbox with a public URL. */
export interface SandboxExposedPort {
  /**
   * The URL of the port, which ends with `/` and is unique. The URL stops working when the port is unexposed or the
   * sandbox is destroyed.
   */
  readonly url: string;
  readonly port: number;
  /** Name given to `exposePort`, or null. */
  readonly name: string | null;
  readonly auth: 'token' | 'public';
  /**
   * The token of the port. Visitors pass it in the URL of their first visit (`?token=`), and then in a cookie. Programs
   * send it with each request, in the header `x-platform-port-token`. Absent with `public`.
   */
  readonly token?: string;
}

/** Commands and files of a sandbox. Relative paths are below the working directory. */
export interface SandboxSession {
  /**
   * Runs a command and waits for it: a text in a shell, or a list of a program and its arguments. `onOutput` receives
   * output as it is written.
   */
  exec(
    command: string | readonly string[],
    options?: SandboxExecOptions & { onOutput?: (stream: 'stdout' | 'stderr', data: string) => void },
  ): Promise<SandboxExecResult>;
  /**
   * Runs a command and streams its output as server-sent events, JSON with a `type`: `start`, `stdout` and `stderr`
   * (`data`), finally `complete` (`exitCode`, `success`, `timedOut`, `durationMs`).
   */
  execStream(command: string | readonly string[], options?: SandboxExecOptions): Promise<ReadableStream<Uint8Array>>;
  /**
   * Opens a terminal with a program, by default a shell.
   *
   * @example const shell = await sandbox.terminal({ cols: 120, rows: 40 }); return new Response(shell.readable);
   */
  terminal(options?: SandboxTerminalOptions): Promise<SandboxTerminal>;
  /** A file as text, or in base64. */
  readFile(path: string, options?: { encoding?: 'utf8' | 'base64' }): Promise<{ content: string }>;
  readFileBytes(path: string): Promise<Uint8Array>;
  readFileStream(path: string): Promise<ReadableStream<Uint8Array>>;
  /** Replaces a file; creates parent folders. */
  writeFile(
    path: string,
    content: string | Uint8Array | ReadableStream<Uint8Array>,
    options?: { mode?: number },
  ): Promise<void>;
  /** `recursive` is required for a folder. */
  deleteFile(path: string, options?: { recursive?: boolean }): Promise<void>;
  moveFile(from: string, to: string): Promise<void>;
  mkdir(path: string, options?: { recursive?: boolean }): Promise<void>;
  /**
   * Lists the entries of a folder, sorted by path, at most 10,000. `includeHidden` includes names that begin with a
   * dot.
   */
  listFiles(path: string, options?: { recursive?: boolean; includeHidden?: boolean }): Promise<SandboxFile[]>;
  exists(path: string): Promise<{ exists: boolean }>;
  /**
   * Changes in a file or folder, as server-sent events: `watching` once it is watched, then `event` with `eventType`
   * (`create`, `modify`, `delete`), `path` and `isDirectory`, until the stream is cancelled.
   */
  watch(path: string, options?: { recursive?: boolean }): Promise<ReadableStream<Uint8Array>>;
  /**
   * Clones a Git repository into `targetDir`. Only git sees credentials in the URL: they are neither in its
   * configuration nor in process lists.
   */
  gitCheckout(url: string, options?: { branch?: string; depth?: number; targetDir?: string }): Promise<void>;
  /** Sets variables for later commands, until the sandbox is stopped. */
  setEnvVars(variables: Record<string, string>): Promise<void>;
  /** Starts a process that continues after the call. @param options `processId`: a custom id. */
  startProcess(
    command: string | readonly string[],
    options?: Pick<SandboxExecOptions, 'cwd' | 'env'> & { processId?: string },
  ): Promise<SandboxProcess>;
  listProcesses(): Promise<SandboxProcess[]>;
  /** A process by its id; null if it does not exist. */
  getProcess(id: string): Promise<SandboxProcess | null>;
  /** Output of the process, the last million characters. */
  getProcessLogs(id: string): Promise<{ logs: string; truncated: boolean }>;
  /**
   * The output of a process as server-sent events, from its start: `stdout` and `stderr` (`data`), `dropped`
   * (`chars`) for output that is no longer kept, finally `exit` (`exitCode`).
   */
  streamProcessLogs(id: string): Promise<ReadableStream<Uint8Array>>;
  /**
   * Ends a process and everything it started, after two seconds even if it ignores SIGTERM. With `signal`, only sends
   * that signal.
   */
  killProcess(id: string, signal?: string): Promise<void>;
  /** Resolves when a server listens on a port. @param options `timeoutMs`: default 60,000, maximum 600,000. */
  waitForPort(port: number, options?: { timeoutMs?: number }): Promise<void>;
  /**
   * Sends a request to a server in the sandbox.
   *
   * @example const page = await sandbox.fetch(8080, '/health');
   */
  fetch(port: number, input: string | URL | Request, init?: RequestInit): Promise<Response>;
}

/** A sandbox. The first call starts or resumes the sandbox. */
export interface Sandbox extends SandboxSession {
  readonly id: string;
  /** A session with its own working directory and variables. */
  createSession(options?: {
    cwd?: string;
    env?: Record<string, string>;
  }): Promise<SandboxSession & { readonly sessionId: string }>;
  /**
   * Gives a port a public URL; a port that already has one keeps it. Visits resume the sandbox.
   *
   * @param options `name`: for people. `auth`: `token` by default; `public` allows everyone who knows the URL.
   * @example const { url, token } = await sandbox.exposePort(8080); return
   * Response.redirect(`${url}?token=${token}`);
   */
  exposePort(port: number, options?: { name?: string; auth?: 'token' | 'public' }): Promise<SandboxExposedPort>;
  /** Removes a port's URL, effective immediately. */
  unexposePort(port: number): Promise<void>;
  /** Sorted by port. */
  listExposedPorts(): Promise<SandboxExposedPort[]>;
  /** The state of the sandbox; null if it does not exist. */
  info(): Promise<SandboxInfo | null>;
  /** Freezes the sandbox's processes until the next call. Happens automatically after some time without calls. */
  suspend(): Promise<void>;
  resume(): Promise<void>;
  /**
   * Saves the current files, while processes are frozen. A snapshot outlives the sandbox, and counts as a sandbox.
   *
   * @param options `id`: a custom id, with the rules of `get`.
   */
  snapshot(options?: { id?: string }): Promise<SandboxSnapshot>;
  /** Creates a sandbox with the files and options of this one, without its processes. The id must be unused. */
  fork(id: string): Promise<Sandbox>;
  /** Deletes the sandbox and everything in it. */
  destroy(): Promise<void>;
}

/** Sandboxes (`sandbox` in platform.yaml). */
export interface SandboxBinding {
  /**
   * The sandbox with an id of your choice; the first call creates it if it does not exist.
   *
   * @param id at most 63 letters, digits, `.`, `_` and `-`, starting with a letter or a digit.
   * @param options the options that the handle sends with each call.
   * @throws {TypeError} for another id.
   * @example env.BOX.get('build-7', { machine: 'large', egress: { mode: 'allow', allow: ['*.npmjs.org'] } });
   */
  get(id: string, options?: SandboxOptions): Sandbox;
  /** Existing snapshots, by id. @param options as for `list`. */
  listSnapshots(options?: {
    prefix?: string;
    limit?: number;
    cursor?: string;
  }): Promise<{ items: SandboxSnapshot[]; cursor: string | null }>;
  deleteSnapshot(id: string): Promise<void>;
  /** Existing sandboxes, by id. @param options `limit`: 100 by default, at most 1,000. */
  list(options?: {
    prefix?: string;
    limit?: number;
    cursor?: string;
  }): Promise<{ items: SandboxInfo[]; cursor: string | null }>;
}
