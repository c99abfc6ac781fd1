// One engine process in the supervisor: starts it, exchanges messages, monitors it, and finds out which code was
// running when it died. engines.ts assigns its role.
import { fork, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SentHandle } from '#core/process/socket-activation.ts';
import { engineFlags, nodeCommand } from '#core/process/node-command.ts';
import type { FromEngine, ToEngine } from './messages.ts';
import type { DeploymentKey, EngineRole, EngineState } from './state.ts';

/** Options of an engine process. */
export interface EngineDeps {
  readonly id: number;
  /** Module of the engine. */
  readonly script: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Private folder of the engines' sockets. */
  readonly sockets: string;
  readonly onMessage: (engine: EngineProcess, message: FromEngine, handle: SentHandle | null) => void;
  /** Called when the process has exited; `blamed` is known a moment later. */
  readonly onExit: (engine: EngineProcess, code: number | null, signal: NodeJS.Signals | null) => void;
  /** Called when all messages of the engine have been read. */
  readonly onClosed: (engine: EngineProcess) => void;
}

/** The descriptor on which a dying engine names the deployment whose code was running. */
const CRASH_FD = 4;
const NOTE_CHARS_MAX = 4096;
const PAGE_BYTES = 4096;

export class EngineProcess {
  readonly id: number;
  readonly startedAt = Date.now();
  /** Base of the names of the engine's sockets. */
  readonly sockets: string;
  role: EngineRole = 'spare';
  place: number | DeploymentKey | null = null;
  restarts = 0;
  /** A `booted` engine is ready for an assignment; an `assigned` engine is opening its sockets. */
  state: 'starting' | 'booted' | 'assigned' | 'listening' | 'draining' | 'gone' = 'starting';
  /** HTTP listener of the engine, and why it is node:http if it is; null if the engine does not listen. */
  listener: { readonly technology: 'node' | 'uws'; readonly reason: string | null } | null = null;
  /** Deployments whose code was running at its last report. */
  running: readonly DeploymentKey[] = [];
  load = 0;
  served = 0;
  forwarded = 0;
  /** Time of the last request of a quarantine engine. */
  lastServedAt = Date.now();
  lostThreads = 0;
  /** From the last `measure`. */
  rssBytes = 0;
  /** Time of the engine's last message. */
  heardAt = Date.now();
  /** Whether the supervisor ended the engine. */
  expected = false;
  #child: ChildProcess;
  #crashNote = '';
  #killer: NodeJS.Timeout | null = null;

  constructor(deps: EngineDeps) {
    this.id = deps.id;
    this.sockets = join(deps.sockets, String(deps.id));
    const [program, ...before] = nodeCommand() as [string, ...string[]];
    const child = fork(deps.script, {
      execPath: program,
      execArgv: [...before, ...engineFlags(process.execArgv)],
      env: {
        ...deps.environment,
        ENGINE_ID: String(deps.id),
        ENGINE_SOCKETS: this.sockets,
        ENGINE_CRASH_FD: String(CRASH_FD),
      },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
    });
    this.#child = child;
    child.on('message', (message, handle) => {
      this.heardAt = Date.now();
      deps.onMessage(this, message as FromEngine, (handle as SentHandle | undefined) ?? null);
    });
    child.stdio[CRASH_FD]?.on('data', (bytes: Buffer) => {
      this.#crashNote = (this.#crashNote + bytes.toString('utf8')).slice(-NOTE_CHARS_MAX);
    });
    let exited = false;
    const gone = (code: number | null, signal: NodeJS.Signals | null): void => {
      if (exited) return;
      exited = true;
      this.state = 'gone';
      if (this.#killer !== null) clearTimeout(this.#killer);
      deps.onExit(this, code, signal);
    };
    child.on('error', () => {
      if (child.pid === undefined) gone(1, null);
    });
    child.on('exit', gone);
    child.on('close', () => deps.onClosed(this));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Socket for requests from other engines. */
  get link(): string {
    return `${this.sockets}.link`;
  }

  get socketPath(): string {
    return `${this.sockets}.http`;
  }

  /**
   * The deployment whose code the crashing thread ran. The engine shares its memory with hostile code, so only this one
   * statement is trusted.
   */
  blamed(signal: NodeJS.Signals | null): DeploymentKey | null {
    const lines = this.#crashNote.split('\n');
    const [number, deployment] = (lines.at(-2) ?? '').split(' ') as [string, string?];
    // A WebAssembly trap that V8 handles is recorded as well. Therefore the record is only used if the process died of
    // that signal.
    return signal !== null &&
      signal === signalNames[number] &&
      deployment !== undefined &&
      /^[a-z0-9-]{1,63}\/[a-z0-9]{1,20}$/.test(deployment)
      ? deployment
      : null;
  }

  /** @param handle a socket to send along; it is closed here once received. */
  send(message: ToEngine, handle: SentHandle | null = null): void {
    if (this.#child.connected) this.#child.send(message, (handle ?? undefined) as never, {}, () => handle?.close());
    else handle?.close();
  }

  /** Sends a copy of a socket that stays open here. */
  share(message: ToEngine, handle: SentHandle): void {
    if (this.#child.connected) this.#child.send(message, handle as never);
  }

  /**
   * Lets the engine finish its work. @param deadlineMs the time after which the engine is killed. @param patient other
   * engines serve in the meantime.
   */
  drain(deadlineMs: number, patient: boolean): void {
    if (this.state === 'gone' || this.state === 'draining') return;
    this.state = 'draining';
    this.expected = true;
    this.send({ type: 'drain', patient });
    this.#killer = setTimeout(() => this.kill(), deadlineMs).unref();
  }

  kill(): void {
    this.expected = true;
    this.#child.kill('SIGKILL');
  }

  /** Ends the engine as if it had crashed: the code that it was running is suspected. */
  abandon(): void {
    this.#child.kill('SIGKILL');
  }

  /** Reads the resident memory of the engine; 0 if the system does not report it. */
  measure(): void {
    try {
      this.rssBytes = Number(readFileSync(`/proc/${this.pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES;
    } catch {
      this.rssBytes = 0;
    }
  }

  toState(): EngineState {
    const { id, pid, role, place, restarts, lostThreads, load, forwarded, socketPath, rssBytes } = this;
    const state =
      this.state === 'booted'
        ? 'ready'
        : this.state === 'draining' || this.state === 'listening'
          ? this.state
          : 'starting';
    return {
      id,
      pid,
      role,
      state,
      place,
      startedAt: new Date(this.startedAt).toISOString(),
      restarts,
      rssBytes,
      lostThreads,
      load,
      forwarded,
      socketPath,
    };
  }
}

/** The signals by the numbers that the native half records. */
const signalNames: Readonly<Record<string, NodeJS.Signals>> = {
  4: 'SIGILL',
  5: 'SIGTRAP',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  11: 'SIGSEGV',
};
