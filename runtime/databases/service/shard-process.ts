// One shard, managed by its parent: a process that is restarted whenever it ends, each time under a new name, and the
// notes of earlier processes.
import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { NOTE_FD, type ShardNote } from '../shard/running.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import type { Moment } from '../protocol/lease-clock.ts';
import type { ShardMessage, ShardRequest } from '../protocol/shard-messages.ts';
import type { ShardOptions } from '../shard/shard.ts';
import { EXIT_CONFIGURATION } from '#core/process/run-process.ts';

interface ShardProcessDeps {
  /** Folder of the shard's sockets. */
  readonly folder: string;
  readonly options: Omit<ShardOptions, 'socketPath'>;
  report(message: string): void;
  /** A database was changed. */
  changed(database: string): void;
  /** The first message to the process: the time until which it may serve. */
  lease(): Moment | null;
  /** Stores a database in its replica now. @throws the reason why the database could not be stored. */
  confirm(database: string): Promise<void>;
}

/** A shard's socket, and the name of its current process. */
interface ShardAddress {
  readonly shard: string;
  readonly path: string;
}

/** A request without its id. */
type Question = ShardRequest extends infer One
  ? One extends { readonly id: number }
    ? Omit<One, 'id'>
    : never
  : never;

const ENDS_KEPT = 32;
const CONFIRM_ATTEMPTS = 5;
const CONFIRM_PAUSE_MS = 500;
const BACKOFF_MS_MAX = 5000;
export class ShardProcess {
  readonly #deps: ShardProcessDeps;
  #child: ChildProcess | null = null;
  #name = '';
  #starts = 0;
  #earlyDeaths = 0;
  #listening = Promise.withResolvers<ShardAddress>();
  /** The notes that processes left, or null, by the name of the process. The promise exists while the process runs. */
  readonly #ends = new Map<string, Promise<ShardNote | null>>();
  #closed = false;
  #exited: Promise<void> = Promise.resolve();
  #ids = 0;
  /** Pending requests to the running process. */
  readonly #asked = new Map<number, (problem: string | null) => void>();
  /** Called with the database that caused the process to be killed. */
  onOverrun: (database: string) => void = () => {};

  constructor(deps: ShardProcessDeps) {
    this.#deps = deps;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Resolves when the process listens; the first use starts the process. @throws {Error} when the process cannot be
   * started, or is closed.
   */
  address(): Promise<ShardAddress> {
    if (this.#starts === 0 && !this.#closed) this.#start();
    return this.#listening.promise;
  }

  /** Sends a message to the process if it is running. */
  tell(request: ShardRequest): void {
    if (this.#child?.connected === true) this.#child.send(request, () => {});
  }

  /** @returns null when the request is done or the process exits; otherwise the reason. */
  ask(question: Question): Promise<string | null> {
    if (this.#child?.connected !== true) return Promise.resolve(null);
    const id = ++this.#ids;
    const answer = Promise.withResolvers<string | null>();
    this.#asked.set(id, answer.resolve);
    this.tell({ ...question, id } as ShardRequest);
    return answer.promise;
  }

  /** Kills the process; resolves when it has exited. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#exited;
  }

  knows(name: string): boolean {
    return this.#ends.has(name);
  }

  /** The note of an ended process; waits briefly for a process that is ending. */
  async endOf(name: string): Promise<ShardNote | null | 'alive'> {
    const ended = this.#ends.get(name);
    if (ended === undefined) return null;
    if (name !== this.#name) return await ended;
    const { promise, resolve } = Promise.withResolvers<'alive'>();
    const timer = setTimeout(() => resolve('alive'), 1000);
    return await Promise.race([ended, promise]).finally(() => clearTimeout(timer));
  }

  #start(): void {
    const { folder, options, report } = this.#deps;
    const startedAt = performance.now();
    // Unique across runs: engines ask about the end of a process by this name.
    const name = `${options.shard}-${++this.#starts}-${randomBytes(4).toString('hex')}`;
    const socketPath = path.join(folder, `${name}.sock`);
    const script = path.join(import.meta.dirname, `../shard/shard${path.extname(import.meta.filename)}`);
    // SQLite gets a separate folder, without access to the operator's secrets.
    const [program, ...before] = nodeCommand();
    const child = fork(script, [JSON.stringify({ ...options, socketPath } satisfies ShardOptions)], {
      execPath: program,
      execArgv: [...before, '--disable-warning=ExperimentalWarning'],
      env: {
        PATH: process.env['PATH'] ?? '',
        TZ: process.env['TZ'] ?? '',
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
    });
    this.#child = child;
    this.#name = name;
    const end = Promise.withResolvers<ShardNote | null>();
    const gone = Promise.withResolvers<void>();
    this.#exited = gone.promise;
    this.#ends.set(name, end.promise);
    if (this.#ends.size > ENDS_KEPT) this.#ends.delete(this.#ends.keys().next().value as string);
    let note = '';
    (child.stdio[NOTE_FD] as Readable).setEncoding('utf8').on('data', (text: string) => (note += text));
    let listened = false;
    child.on('message', (message: ShardMessage) => {
      if (message.type === 'changed') this.#deps.changed(message.message);
      else if (message.type === 'report') report(message.message);
      else if (message.type === 'done') {
        this.#asked.get(message.id)?.(message.problem);
        this.#asked.delete(message.id);
      } else if (message.type === 'confirm') void this.#confirm(message.name);
      else {
        listened = true;
        this.#listening.resolve({ shard: name, path: socketPath });
      }
    });
    const until = this.#deps.lease();
    if (until !== null) this.tell({ type: 'lease', until });
    child.on('error', (error) => report(`shard ${options.shard} failed: ${error.message}`));
    // The exit is handled when all output of the process was read.
    child.on('close', (code, signal) => {
      this.#child = null;
      for (const tell of this.#asked.values()) tell(null);
      this.#asked.clear();
      rmSync(socketPath, { force: true });
      gone.resolve();
      this.#ended(code, signal, parsed(note), end.resolve, listened, performance.now() - startedAt);
    });
  }

  /** Retries for a while: the write is committed, and only its replica is missing. */
  async #confirm(name: string): Promise<void> {
    const child = this.#child;
    let problem: string | null = null;
    for (let attempt = 1; attempt <= CONFIRM_ATTEMPTS; attempt++)
      try {
        await this.#deps.confirm(name);
        problem = null;
        break;
      } catch (error) {
        problem = `the write may be lost with this machine: ${(error as Error).message}`;
        await new Promise((resolve) => setTimeout(resolve, CONFIRM_PAUSE_MS));
      }
    if (this.#child === child) this.tell({ type: 'confirmed', name, problem });
  }

  #ended(
    code: number | null,
    signal: string | null,
    note: ShardNote | null,
    tell: (note: ShardNote | null) => void,
    listened: boolean,
    livedMs: number,
  ): void {
    const { report, options } = this.#deps;
    if (note?.database !== null && note?.database !== undefined) {
      const what = note.reason === 'time' ? `ran longer than ${note.limitMs} ms` : 'took too much memory';
      report(`shard ${options.shard} killed: statement of ${note.database} ${what}`);
      this.onOverrun(note.database);
    } else if (!this.#closed && note === null)
      report(`shard ${options.shard} exited (${signal ?? `exit code ${code}`}): restarting`);
    if (this.#closed || code === EXIT_CONFIGURATION) {
      if (listened) this.#listening = Promise.withResolvers();
      this.#listening.promise.catch(() => {});
      this.#listening.reject(new Error('the processes of the database service cannot be started, or are closed'));
      tell(note);
      return;
    }
    if (listened) this.#listening = Promise.withResolvers();
    this.#earlyDeaths = livedMs > 10_000 || note !== null ? 0 : this.#earlyDeaths + 1;
    const delayMs = this.#earlyDeaths <= 2 ? 0 : Math.min(BACKOFF_MS_MAX, 50 * 2 ** (this.#earlyDeaths - 2));
    if (delayMs === 0) this.#start();
    else setTimeout(() => this.#closed || this.#start(), delayMs).unref();
    tell(note);
  }

  /** Ends the process gracefully; resolves when it has exited. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#starts === 0) {
      this.#listening.promise.catch(() => {});
      this.#listening.reject(new Error('the processes of the database service are closed'));
    }
    const child = this.#child;
    if (child === null) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 3000);
    await this.#exited;
    clearTimeout(timer);
  }
}

function parsed(note: string): ShardNote | null {
  try {
    return JSON.parse(note) as ShardNote;
  } catch {
    return null;
  }
}
