// One shard, managed by its parent: a process that is restarted whenever it ends, under a new name each time, and the
// notes left by earlier processes.
import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { NOTE_FD, type ShardNote } from '../shard/running.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import type { ShardOptions } from '../shard/shard.ts';
import { EXIT_CONFIGURATION } from '#core/process/run-process.ts';

interface ShardProcessDeps {
  /** Folder of its sockets. */
  readonly folder: string;
  readonly options: Omit<ShardOptions, 'socketPath'>;
  report(message: string): void;
  /** A database was changed. */
  changed(database: string): void;
}

/** A shard's socket, and its name until it ends. */
interface ShardAddress {
  readonly shard: string;
  readonly path: string;
}

const ENDS_KEPT = 32;
const BACKOFF_MS_MAX = 5000;
export class ShardProcess {
  readonly #deps: ShardProcessDeps;
  #child: ChildProcess | null = null;
  #name = '';
  #starts = 0;
  #earlyDeaths = 0;
  #listening = Promise.withResolvers<ShardAddress>();
  /** Name -> its note, or null without one. The promise exists while the process runs. */
  readonly #ends = new Map<string, Promise<ShardNote | null>>();
  #closed = false;
  #exited: Promise<void> = Promise.resolve();
  /** Called with the database that caused it to be ended. */
  onOverrun: (database: string) => void = () => {};

  constructor(deps: ShardProcessDeps) {
    this.#deps = deps;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves when it listens; starts it on first use. @throws {Error} when it cannot be started, or is closed. */
  address(): Promise<ShardAddress> {
    if (this.#starts === 0 && !this.#closed) this.#start();
    return this.#listening.promise;
  }

  knows(name: string): boolean {
    return this.#ends.has(name);
  }

  /** The note of an ended process; waits briefly for one that is ending. */
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
    // SQLite gets a separate folder: no secret of the operator reaches it.
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
    child.on('message', ({ type, message }: { type: string; message?: string }) => {
      if (type === 'changed') {
        this.#deps.changed(message ?? '');
        return;
      }
      if (type === 'report') {
        report(message ?? '');
        return;
      }
      listened = true;
      this.#listening.resolve({ shard: name, path: socketPath });
    });
    child.on('error', (error) => report(`shard ${options.shard} failed: ${error.message}`));
    // After all its output has been read.
    child.on('close', (code, signal) => {
      this.#child = null;
      rmSync(socketPath, { force: true });
      gone.resolve();
      this.#ended(code, signal, parsed(note), end.resolve, listened, performance.now() - startedAt);
    });
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

  /** Ends it gracefully; resolves when it is gone. */
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
