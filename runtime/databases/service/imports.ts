// The imports of a database service. Each runs in a separate process at low priority, so that input of tenants cannot
// crash other processes. Called by service.ts. Runs no SQL and reads no file.
import { fork, type ChildProcess } from 'node:child_process';
import { statfsSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseLimits } from '#core/limits.ts';
import { SqlRefusal } from '#core/database-request.ts';
import { FreeSpace } from '#core/process/free-space.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import type { ImporterMessage, ImporterOptions } from '../import/importer.ts';
import { projectOf } from '../protocol/database-name.ts';
import { unknownImport, type ImportState } from '../protocol/frames.ts';
import { NOTE_FD, type ShardNote } from '../shard/running.ts';

interface ImportsDeps {
  readonly directory: string;
  readonly dataFolder: string | null;
  readonly limits: DatabaseLimits;
  readonly synchronous: 'normal' | 'full';
  report(message: string): void;
  /** Called when a database was changed. */
  changed(database: string): void;
}

interface Import {
  state: ImportState;
  /** Null after the import ended. */
  child: ChildProcess | null;
  /** The reason for which this process is ending the importer, or null. */
  ending: string | null;
  isCommitting: boolean;
  /** Settles when the import ends. */
  readonly over: PromiseWithResolvers<void>;
}

/** Heap limit of an importer: room for a few of the longest statements. */
const HEAP_MB_MAX = 192;
/** Interval of disk checks. */
const LOOK_MS = 250;
/** Maximum wait for one response. */
const WAIT_MS_MAX = 5000;
/** Results of ended imports that are kept for later requests. */
const ENDS_KEPT = 200;

export class Imports {
  readonly #deps: ImportsDeps;
  /** The imports by database and id; the latest import comes last. */
  readonly #imports = new Map<string, Import>();
  /** Processes that clean up after ended imports. */
  readonly #settling = new Set<ChildProcess>();
  readonly #space: FreeSpace;
  #closed = false;

  constructor(deps: ImportsDeps) {
    this.#deps = deps;
    this.#space = new FreeSpace(deps.directory, deps.limits.diskFreeBytesMin, statfsSync);
  }

  /**
   * Starts an import, cancels it, or returns its progress; with `waitMs`, it waits for the end, but at most that long.
   *
   * @param name the name of the database.
   * @throws {SqlRefusal} when too many imports are running.
   */
  async ask(
    name: string,
    { id, file, replace, cancel, waitMs }: Readonly<Record<string, unknown>>,
  ): Promise<ImportState> {
    const key = `${name} ${String(id)}`;
    let one = this.#imports.get(key);
    if (one === undefined) {
      if (typeof file !== 'string') return unknownImport;
      one = this.#begin(name, key, file, replace === true);
    } else if (cancel === true) this.#end(one, 'it was cancelled');
    if (typeof waitMs === 'number' && one.state.state === 'running') {
      const gone = new AbortController();
      const passed = sleep(Math.min(waitMs, WAIT_MS_MAX), undefined, { signal: gone.signal, ref: false });
      await Promise.race([one.over.promise, passed]);
      gone.abort();
      passed.catch(() => {});
    }
    return one.state;
  }

  #begin(name: string, key: string, file: string, replace: boolean): Import {
    const { directory, dataFolder, limits, synchronous, report } = this.#deps;
    const [namespace, resource] = name.split('/') as [string, string];
    const running = [...this.#imports].filter(([, { state }]) => state.state === 'running');
    if (running.some(([other]) => other.startsWith(`${namespace}/`)))
      throw new SqlRefusal('SQLITE_BUSY', 'another import of the project is running: only one at a time');
    if (running.length >= limits.importsMax)
      throw new SqlRefusal('SQLITE_BUSY', `${limits.importsMax} imports are running, the maximum: try again later`);
    const options: ImporterOptions = {
      path: path.join(directory, namespace, `${resource}.sqlite`),
      file,
      replace,
      namespace,
      dataFolder,
      limits,
      synchronous,
    };
    const child = this.#fork(options);
    const one: Import = {
      state: { ...unknownImport, state: 'running' },
      child,
      ending: null,
      isCommitting: false,
      over: Promise.withResolvers(),
    };
    this.#imports.set(key, one);
    for (const [other, { child: its }] of this.#imports) {
      if (this.#imports.size <= ENDS_KEPT) break;
      if (its === null) this.#imports.delete(other);
    }
    let note = '';
    (child.stdio[NOTE_FD] as Readable).setEncoding('utf8').on('data', (text: string) => (note += text));
    const timer = setTimeout(() => this.#end(one, tooLong(limits)), limits.importMs);
    // Statements sort on disk, where only this check limits the size of the files.
    const looking = setInterval(() => {
      if (this.#space.isLow)
        this.#end(one, 'the disk of the platform is nearly full: import again when its operator has made room');
    }, LOOK_MS);
    child.on('message', (message: ImporterMessage) => {
      if (message.type === 'committing') {
        one.isCommitting = true;
        return;
      }
      one.state = stateAfter(one.state, message);
      if (one.state.state === 'done') this.#deps.changed(name);
      if (one.state.state !== 'running') one.over.resolve();
    });
    child.on('error', (error) => {
      report(`an import of ${name} failed: ${error.message}`);
      // It never started.
      if (child.pid !== undefined) return;
      one.child = null;
      one.state = { ...one.state, state: 'failed', reason: 'its process could not be started' };
      one.over.resolve();
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      clearInterval(looking);
      one.child = null;
      if (one.state.state !== 'running') return;
      if (!this.#closed) this.#settle(options);
      if (one.isCommitting) {
        one.state = unknownImport;
        one.over.resolve();
        report(`an import of ${name} ended while it was committed (${signal ?? `exit code ${code}`})`);
        return;
      }
      const reason = one.ending ?? whyEnded(note, limits) ?? `its process ended (${signal ?? `exit code ${code}`})`;
      one.state = { ...one.state, state: 'failed', reason };
      one.over.resolve();
      report(`an import of ${name} ended: ${reason}`);
    });
    return one;
  }

  #fork(options: ImporterOptions): ChildProcess {
    const script = path.join(import.meta.dirname, `../import/importer${path.extname(import.meta.filename)}`);
    const [program, ...before] = nodeCommand();
    return fork(script, [JSON.stringify(options)], {
      execPath: program,
      execArgv: [...before, '--disable-warning=ExperimentalWarning', `--max-old-space-size=${HEAP_MB_MAX}`],
      // Sort files are on the databases' disk: the system's temporary folder may be small, or in memory.
      env: {
        PATH: process.env['PATH'] ?? '',
        TZ: process.env['TZ'] ?? '',
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        SQLITE_TMPDIR: this.#deps.directory,
      },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
    });
  }

  /** The log of a killed import contains all its writes until it is truncated. */
  #settle(options: ImporterOptions): void {
    const child = this.#fork({ ...options, file: null });
    this.#settling.add(child);
    child.on('error', (error) => this.#deps.report(`the log of an import was not truncated: ${error.message}`));
    child.on('close', () => this.#settling.delete(child));
  }

  #end(one: Import, why: string): void {
    if (one.child === null || one.isCommitting) return;
    one.ending ??= why;
    one.child.kill('SIGKILL');
  }

  /** Whether an import of a project is running. */
  isRunning(project: string): boolean {
    return [...this.#imports].some(([name, { child }]) => child !== null && projectOf(name) === project);
  }

  /** Ends all running imports. */
  endAll(why: string): void {
    for (const one of this.#imports.values()) this.#end(one, why);
  }

  /** Ends all running imports without a trace. */
  async close(): Promise<void> {
    this.#closed = true;
    const running = [...this.#imports.values()].filter(({ child }) => child !== null);
    const children = [...running.flatMap(({ child }) => child ?? []), ...this.#settling];
    for (const one of running) {
      if (one.state.state === 'running') this.#end(one, 'the database service was stopped');
      // If this fails, only the log is not truncated yet, which the next import does as well.
      else one.child?.kill('SIGKILL');
    }
    for (const child of this.#settling) child.kill('SIGKILL');
    await Promise.all(children.map((child) => new Promise((resolve) => child.once('close', resolve))));
  }
}

function stateAfter(before: ImportState, message: Exclude<ImporterMessage, { type: 'committing' }>): ImportState {
  if (message.type === 'progress') {
    const { statements, done, total } = message;
    return { ...before, statements, part: total > 0 ? Math.min(1, done / total) : 0 };
  }
  if (message.type === 'done')
    return { state: 'done', statements: message.statements, part: 1, reason: null, leftOut: message.leftOut };
  const { code, reason, line, statement } = message;
  const where = line === null ? '' : `, line ${line}`;
  const what = statement === null || statement === '' ? '' : `: ${statement}`;
  return { ...before, state: 'failed', reason: `${reason} (${code}${where}${what})` };
}

function tooLong({ importMs }: DatabaseLimits): string {
  return `it took longer than DB_IMPORT_MS (${importMs})`;
}

/** Reads the note that a process's watchdog left. */
function whyEnded(note: string, limits: DatabaseLimits): string | null {
  try {
    const { reason, limitMs } = JSON.parse(note) as ShardNote;
    if (reason === 'memory') return `a statement took more than DB_STATEMENT_MEMORY_MB (${limits.statementMemoryMb})`;
    return limitMs < limits.importMs ? `a statement took longer than DB_STATEMENT_MS (${limitMs})` : tooLong(limits);
  } catch {
    return null;
  }
}
