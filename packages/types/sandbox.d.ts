// Sandboxes: `sandbox` in platform.yaml.

/** What a command in a sandbox gave. One that fails is a result as well: errors are for sandboxes that fail. */
export interface SandboxExecResult {
  readonly stdout: string;
  readonly stderr: string;
  /** 124 of a command that took too long; 128 and the signal's number of one that a signal ended. */
  readonly exitCode: number;
  /** Whether the exit code is 0. */
  readonly success: boolean;
  readonly durationMs: number;
  /** Whether more than 10 MiB were written to stdout or stderr: the rest is missing. */
  readonly truncated: boolean;
  /** Whether it was ended at `timeoutMs`. */
  readonly timedOut: boolean;
}

/** Where and how a command runs. */
export interface SandboxExecOptions {
  /** Working directory; `/workspace` by default. */
  cwd?: string;
  /** Variables besides those of the sandbox. */
  env?: Record<string, string>;
  /** 60,000 by default, at most 600,000: start a process for longer work. */
  timeoutMs?: number;
  /** What the command reads, at most 1 MiB. */
  stdin?: string | Uint8Array;
  /** Ends the command with all that it started. */
  signal?: AbortSignal;
}

/** What runs in a terminal, and how large it is. */
export interface SandboxTerminalOptions {
  /** A text in a shell, a list as a program with its arguments; a login shell by default, bash where there is one. */
  command?: string | readonly string[];
  /** Columns, 80 by default, at most 1,000. */
  cols?: number;
  /** 24 by default, at most 1,000. */
  rows?: number;
  /** Working directory; `/workspace` by default. */
  cwd?: string;
  /** Variables besides those of the sandbox; `TERM` is `xterm-256color` where neither says another. */
  env?: Record<string, string>;
  /** Hangs up: `readable` fails with its reason, and `exited` too. */
  signal?: AbortSignal;
}

/** A terminal in a sandbox. It lasts as long as its caller, at most: the invocation, or the request. */
export interface SandboxTerminal {
  /** What is printed, escape sequences and all. Its program waits for whoever does not read; to cancel it hangs up. */
  readonly readable: ReadableStream<Uint8Array>;
  /** What is typed: Ctrl-C is `\x03`. To close it is the end of input for each program that reads. */
  readonly writable: WritableStream<Uint8Array | string>;
  /** Another size, of 1 to 1,000 each; of several at once the last one counts. */
  resize(cols: number, rows: number): Promise<void>;
  /**
   * How its program ended, once what it printed has been read but for the last 64 KiB; 128 and the signal's number
   * where a signal ended it.
   */
  readonly exited: Promise<{ readonly exitCode: number; readonly signal?: string }>;
  /** Hangs up: its programs get SIGHUP, and what is left of them after two seconds SIGKILL. */
  close(): void;
}

/** A background process in a sandbox. */
export interface SandboxProcess {
  readonly id: string;
  readonly pid: number;
  readonly command: string;
  readonly status: 'running' | 'completed' | 'failed';
  /** Null while it runs. */
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

/** How large the machine of a sandbox is. */
export type SandboxMachine = 'small' | 'default' | 'large' | 'xlarge';

/** What a sandbox may reach of what the operator allows. `allow`: names of hosts; `*.name` has all below it too. */
export interface SandboxEgress {
  mode: 'all' | 'none' | 'allow';
  /** With the mode `allow`, at most 100. */
  allow?: readonly string[];
}

/**
 * What a sandbox is made of. What is left out stays as it is; null is what the operator has. Where a call says
 * something else than the sandbox has, its machine is made anew before the call, with its files, without its processes.
 */
export interface SandboxOptions {
  /** Processors and memory: 1 and 2 GiB, 2 and 4, 4 and 8, 8 and 16. */
  machine?: SandboxMachine | null;
  /** One of those that the operator allows. */
  image?: string | null;
  egress?: SandboxEgress | null;
  /** Whether its commands have a token for the AI gateway (`PLATFORM_AI_TOKEN_FILE`): by default where there is one. */
  ai?: boolean | null;
  /** Of a sandbox that is not there yet: the snapshot whose files it begins with. Otherwise it does nothing. */
  snapshot?: string | null;
}

/** The files that a sandbox had. */
export interface SandboxSnapshot {
  readonly id: string;
  /** The sandbox it was taken of. */
  readonly of: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** What it takes on the disk. */
  readonly sizeBytes: number;
}

/** A sandbox as it is. */
export interface SandboxInfo {
  readonly id: string;
  /** `suspended` and `stopped` ones run again with the next call; a stopped one has its files, and no processes. */
  readonly state: 'creating' | 'running' | 'suspended' | 'stopped' | 'error';
  readonly provider: string;
  /** What was asked for; null: as the operator has it. */
  readonly machine: SandboxMachine | null;
  readonly image: string | null;
  readonly egress: SandboxEgress | null;
  readonly ai: boolean | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly lastActiveAt: number;
}

/**
 * Why a call of a sandbox failed, by `code`: `invalid_argument`; `file_not_found`, `file_exists`, `file_type`,
 * `file_forbidden`, `sandbox_disk_full`; `process_not_found`, `process_exists`; `port_unreachable`; `git_failed`;
 * `terminal_unavailable`; `sandbox_limit`; `sandbox_option_refused`; `sandbox_copy_refused`, `sandbox_exists`,
 * `snapshot_not_found`; `sandbox_unavailable` and `sandbox_lost` (try again), `sandbox_destroyed`.
 */
export interface SandboxError extends Error {
  readonly name: 'SandboxError';
  readonly code: string;
}

/** A port of a sandbox that has an address. */
export interface SandboxExposedPort {
  /** Ends with `/`; of this port alone. It leads nowhere once the port is taken back or the sandbox is gone. */
  readonly url: string;
  readonly port: number;
  /** Of `exposePort`; null: none. */
  readonly name: string | null;
  readonly auth: 'token' | 'public';
  /**
   * Visitors have it in the address of their first visit (`?token=`), and in a cookie afterwards; programs in each
   * request, in the header `x-platform-port-token`. None with `public`.
   */
  readonly token?: string;
}

/** Commands and files of a sandbox. Paths that do not begin with `/` are below the working directory. */
export interface SandboxSession {
  /**
   * Runs a command and waits for it: a text in a shell, a list as a program with its arguments. With `onOutput` what it
   * writes comes as it is written.
   */
  exec(
    command: string | readonly string[],
    options?: SandboxExecOptions & { onOutput?: (stream: 'stdout' | 'stderr', data: string) => void },
  ): Promise<SandboxExecResult>;
  /**
   * Runs a command and streams its output as server-sent events, JSON with a `type`: `start`, `stdout` and `stderr`
   * (`data`), at last `complete` (`exitCode`, `success`, `timedOut`, `durationMs`).
   */
  execStream(command: string | readonly string[], options?: SandboxExecOptions): Promise<ReadableStream<Uint8Array>>;
  /**
   * Opens a terminal with a program, a shell where none is said.
   *
   * @example const shell = await sandbox.terminal({ cols: 120, rows: 40 }); return new Response(shell.readable);
   */
  terminal(options?: SandboxTerminalOptions): Promise<SandboxTerminal>;
  /** A file as text, or in base64. */
  readFile(path: string, options?: { encoding?: 'utf8' | 'base64' }): Promise<{ content: string }>;
  readFileBytes(path: string): Promise<Uint8Array>;
  readFileStream(path: string): Promise<ReadableStream<Uint8Array>>;
  /** Replaces a file as a whole; folders on the way are made. */
  writeFile(
    path: string,
    content: string | Uint8Array | ReadableStream<Uint8Array>,
    options?: { mode?: number },
  ): Promise<void>;
  /** A folder only with `recursive`. */
  deleteFile(path: string, options?: { recursive?: boolean }): Promise<void>;
  moveFile(from: string, to: string): Promise<void>;
  mkdir(path: string, options?: { recursive?: boolean }): Promise<void>;
  /** Sorted by path, at most 10,000; those whose names begin with a dot with `includeHidden`. */
  listFiles(path: string, options?: { recursive?: boolean; includeHidden?: boolean }): Promise<SandboxFile[]>;
  exists(path: string): Promise<{ exists: boolean }>;
  /**
   * What changes in a file or folder, as server-sent events: `watching` once it is watched, then `event` with
   * `eventType` (`create`, `modify`, `delete`), `path` and `isDirectory`, until the stream is cancelled.
   */
  watch(path: string, options?: { recursive?: boolean }): Promise<ReadableStream<Uint8Array>>;
  /**
   * Clones a Git repository into `targetDir`. Credentials in the address reach git alone: neither its configuration
   * nor a list of processes has them.
   */
  gitCheckout(url: string, options?: { branch?: string; depth?: number; targetDir?: string }): Promise<void>;
  /** Sets variables for later commands, until the sandbox is stopped. */
  setEnvVars(variables: Record<string, string>): Promise<void>;
  /** Starts a process that goes on after the call. @param options `processId`: an id of your choosing. */
  startProcess(
    command: string | readonly string[],
    options?: Pick<SandboxExecOptions, 'cwd' | 'env'> & { processId?: string },
  ): Promise<SandboxProcess>;
  listProcesses(): Promise<SandboxProcess[]>;
  /** A process by its id; null when there is none. */
  getProcess(id: string): Promise<SandboxProcess | null>;
  /** What it wrote, the last million characters. */
  getProcessLogs(id: string): Promise<{ logs: string; truncated: boolean }>;
  /**
   * The output of a process as server-sent events, from its start: `stdout` and `stderr` (`data`), `dropped` (`chars`)
   * for what is not kept any more, at last `exit` (`exitCode`).
   */
  streamProcessLogs(id: string): Promise<ReadableStream<Uint8Array>>;
  /** Ends a process and all that it started; one that ignores SIGTERM after two seconds. A signal is sent as it is. */
  killProcess(id: string, signal?: string): Promise<void>;
  /** Resolves when something listens on a port. @param options `timeoutMs`: 60,000 by default, at most 600,000. */
  waitForPort(port: number, options?: { timeoutMs?: number }): Promise<void>;
  /**
   * Sends a request to a server in the sandbox.
   *
   * @example const page = await sandbox.fetch(8080, '/health');
   */
  fetch(port: number, input: string | URL | Request, init?: RequestInit): Promise<Response>;
}

/** A sandbox. It starts, or wakes up, with the first call. */
export interface Sandbox extends SandboxSession {
  readonly id: string;
  /** A session with a working directory and variables of its own. */
  createSession(options?: {
    cwd?: string;
    env?: Record<string, string>;
  }): Promise<SandboxSession & { readonly sessionId: string }>;
  /**
   * Gives a port an address that visitors reach; one that has it keeps it. Visits wake the sandbox.
   *
   * @param options `name`: for people. `auth`: `token` by default; `public` lets everybody in who knows the address.
   * @example const { url, token } = await sandbox.exposePort(8080); return Response.redirect(`${url}?token=${token}`);
   */
  exposePort(port: number, options?: { name?: string; auth?: 'token' | 'public' }): Promise<SandboxExposedPort>;
  /** Takes an address back: at once it leads nowhere. */
  unexposePort(port: number): Promise<void>;
  /** By port. */
  listExposedPorts(): Promise<SandboxExposedPort[]>;
  /** Null: it does not exist. */
  info(): Promise<SandboxInfo | null>;
  /** Its processes stand still until the next call. It is done by itself when nobody has called for a while. */
  suspend(): Promise<void>;
  resume(): Promise<void>;
  /**
   * Keeps the files as they are now; processes stand still meanwhile. It outlasts the sandbox, and counts as one.
   *
   * @param options `id`: one of your choosing, by the rules of `get`.
   */
  snapshot(options?: { id?: string }): Promise<SandboxSnapshot>;
  /** Another sandbox, which is not there yet, with the files and options of this one, and none of its processes. */
  fork(id: string): Promise<Sandbox>;
  /** Deletes the sandbox and everything in it. */
  destroy(): Promise<void>;
}

/** Sandboxes (`sandbox` in platform.yaml). */
export interface SandboxBinding {
  /**
   * The sandbox with an id of your choosing; one that does not exist is made with the first call.
   *
   * @param id at most 63 letters, digits, `.`, `_` and `-`, the first one a letter or a digit.
   * @param options what it is made of, said with each call of the handle.
   * @throws {TypeError} for another id.
   * @example env.BOX.get('build-7', { machine: 'large', egress: { mode: 'allow', allow: ['*.npmjs.org'] } });
   */
  get(id: string, options?: SandboxOptions): Sandbox;
  /** The snapshots that there are, by id. @param options as those of `list`. */
  listSnapshots(options?: {
    prefix?: string;
    limit?: number;
    cursor?: string;
  }): Promise<{ items: SandboxSnapshot[]; cursor: string | null }>;
  deleteSnapshot(id: string): Promise<void>;
  /** The sandboxes that there are, by id. @param options `limit`: 100 by default, at most 1,000. */
  list(options?: {
    prefix?: string;
    limit?: number;
    cursor?: string;
  }): Promise<{ items: SandboxInfo[]; cursor: string | null }>;
}
