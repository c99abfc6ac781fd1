// Sandboxes: `sandbox` in platform.yaml.

/** What a command in a sandbox gave. */
export interface SandboxExecResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  /** Whether the exit code is 0. */
  readonly success: boolean;
}

/** Where and how a command runs. */
export interface SandboxExecOptions {
  /** Working directory. */
  cwd?: string;
  /** Variables besides those of the sandbox. */
  env?: Record<string, string>;
  /** At most 600,000: start a process for longer work. */
  timeoutMs?: number;
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
  readonly type: 'file' | 'directory';
  /** Bytes, of a file. */
  readonly size?: number;
}

/** Commands and files of a sandbox. */
export interface SandboxSession {
  /** Runs a command and waits for it. */
  exec(command: string, options?: SandboxExecOptions): Promise<SandboxExecResult>;
  /** Runs a command and streams its output as server-sent events. */
  execStream(command: string, options?: SandboxExecOptions): Promise<ReadableStream<Uint8Array>>;
  readFile(path: string): Promise<{ content: string }>;
  writeFile(path: string, content: string): Promise<void>;
  deleteFile(path: string): Promise<void>;
  mkdir(path: string, options?: { recursive?: boolean }): Promise<void>;
  listFiles(path: string): Promise<SandboxFile[]>;
  /** Clones a Git repository into `targetDir`. */
  gitCheckout(url: string, options?: { branch?: string; depth?: number; targetDir?: string }): Promise<void>;
  /** Sets variables for later commands. */
  setEnvVars(variables: Record<string, string>): Promise<void>;
  /** Starts a process that goes on after the call. */
  startProcess(command: string, options?: Omit<SandboxExecOptions, 'timeoutMs'>): Promise<SandboxProcess>;
  listProcesses(): Promise<SandboxProcess[]>;
  /** A process by its id; null when there is none. */
  getProcess(id: string): Promise<SandboxProcess | null>;
  getProcessLogs(id: string): Promise<{ logs: string }>;
  /** The output of a process as server-sent events, from its start. */
  streamProcessLogs(id: string): Promise<ReadableStream<Uint8Array>>;
  killProcess(id: string): Promise<void>;
}

/** A sandbox. It starts, or wakes up, with the first call. */
export interface Sandbox extends SandboxSession {
  /** A session with a working directory and variables of its own. */
  createSession(options?: {
    cwd?: string;
    env?: Record<string, string>;
  }): Promise<SandboxSession & { readonly sessionId: string }>;
  /** Deletes the sandbox and everything in it. */
  destroy(): Promise<void>;
}

/** Sandboxes (`sandbox` in platform.yaml). */
export interface SandboxBinding {
  /** The sandbox with an id of your choosing; one that does not exist is made with the first call. */
  get(id: string): Sandbox;
}
