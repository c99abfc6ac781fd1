// The open databases of a shard, by name: opened on first use, the least recently used closed first. Also replaces and
// deletes complete files, after closing them.
import path from 'node:path';
import type { DatabaseLimits } from '#core/limits.ts';
import { SqlRefusal } from '#core/database-request.ts';
import { isErrorCode } from '#core/errors.ts';
import type { FreeSpace } from '#core/process/free-space.ts';
import type { StorageGuard } from '#core/storage-left.ts';
import { databasesIn, isThere, removeFile, replaceFile } from '../sqlite/copies.ts';
import { DatabaseFile } from '../sqlite/database-file.ts';
import type { Job } from '../sqlite/job.ts';
import { withPathLock } from '../sqlite/path-lock.ts';
import { knownMigrations } from '../sqlite/migrations.ts';
import { projectOf } from '../protocol/database-name.ts';
import { kinds, ops } from '../protocol/frames.ts';

/** How long to wait for the replicator, which holds a file for milliseconds, before replacing it. */
const LOCK_MS = 2000;
/** As for `ops.pending`. */
const noMessages = '{"rows":[]}';

interface OpenFilesDeps {
  readonly limits: DatabaseLimits;
  /** Free space of the disk. */
  readonly space: FreeSpace;
  /** Remaining storage of organizations. */
  readonly storage: StorageGuard;
  readonly synchronous: 'normal' | 'full';
  readonly shard: number;
  pathOf(name: string): string;
  isName(name: string): boolean;
  /** Called when a database is opened for the first time; databases are numbered in this order. */
  opened(name: string): void;
  report(message: string): void;
  /** Called when a database was changed, replaced or deleted. */
  changed(name: string): void;
}

export class OpenFiles {
  readonly #deps: OpenFilesDeps;
  /** The open databases, in order of use; the latest comes last. */
  readonly #open = new Map<string, DatabaseFile>();
  readonly #numbers = new Map<string, number>();
  #latest = '';

  constructor(deps: OpenFilesDeps) {
    this.#deps = deps;
  }

  /** The number of a database, for the watchdog. */
  numberOf(name: string): number {
    let number = this.#numbers.get(name);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(name, number);
      this.#deps.opened(name);
    }
    return number;
  }

  /** Passes a job to its database. */
  take(name: string, job: Job): void {
    try {
      if (!this.#deps.isName(name)) throw new SqlRefusal('SQLITE_CANTOPEN', 'this is not a database name');
      if (job.op === ops.restore || job.op === ops.remove) this.#replace(name, job);
      // The caller may not know that the database was removed, so this must not create an empty one.
      else if (job.op === ops.pending && !this.#isThere(name)) job.answer(kinds.json, noMessages);
      else if (job.op === ops.migrations && !this.#isThere(name))
        job.answer(kinds.json, JSON.stringify(knownMigrations(null, job.args)));
      else if (job.op === ops.siblings) {
        const folder = path.dirname(this.#deps.pathOf(name));
        job.answer(kinds.json, JSON.stringify({ databases: databasesIn(folder, String(job.args[0] ?? '')) }));
      } else if (job.op === ops.look && !this.#isThere(name)) job.answer(kinds.json, 'null');
      else this.#file(name).take(job);
    } catch (error) {
      job.answer(...this.#failure(error));
    }
  }

  #isThere(name: string): boolean {
    return this.#open.has(name) || isThere(this.#deps.pathOf(name));
  }

  #file(name: string): DatabaseFile {
    const open = this.#open.get(name);
    if (open !== undefined) {
      if (this.#latest !== name) {
        this.#open.delete(name);
        this.#open.set(name, open);
        this.#latest = name;
      }
      return open;
    }
    if (this.#open.size >= this.#deps.limits.openMax) this.#closeOne();
    const { limits, space, storage, synchronous, shard, report, pathOf } = this.#deps;
    const damaged = (): void => {
      this.#open.delete(name);
      this.#latest = '';
    };
    const file = new DatabaseFile({
      path: pathOf(name),
      namespace: name.split('/', 1)[0]!,
      limits,
      space,
      storage,
      synchronous,
      shard,
      report,
      pathOf: (other) => this.#siblingOf(name, other),
      damaged,
      changed: () => this.#deps.changed(name),
    });
    this.#open.set(name, file);
    this.#latest = name;
    return file;
  }

  #siblingOf(name: string, other: string): string {
    if (!this.#deps.isName(other) || other.split('/')[0] !== name.split('/')[0])
      throw new SqlRefusal('SQLITE_CANTOPEN', 'a branch is a database of the same project');
    return this.#deps.pathOf(other);
  }

  #closeOne(): void {
    for (const [name, file] of this.#open) {
      if (!file.isIdle) continue;
      this.#open.delete(name);
      file.close();
      return;
    }
    throw new SqlRefusal('SQLITE_BUSY', `more than ${this.#deps.limits.openMax} databases are in use`);
  }

  #replace(name: string, job: Job): void {
    const done = withPathLock(this.#deps.pathOf(name), LOCK_MS, () => {
      this.#replaceLocked(name, job);
      return true;
    });
    if (done === null) throw new SqlRefusal('SQLITE_BUSY', 'the database is being replicated: try again');
  }

  #replaceLocked(name: string, job: Job): void {
    const [source, isSibling, keepAs] = job.args;
    const from = isSibling === true ? this.#siblingOf(name, `${name.split('/')[0]}/${String(source)}`) : String(source);
    const file = this.#open.get(name);
    if (file !== undefined) {
      this.#open.delete(name);
      this.#latest = '';
      file.close();
    }
    if (job.op === ops.remove) {
      const removed = isThere(this.#deps.pathOf(name));
      removeFile(this.#deps.pathOf(name));
      this.#deps.changed(name);
      job.answer(kinds.json, JSON.stringify({ removed }));
      return;
    }
    const keep = typeof keepAs === 'string' ? this.#siblingOf(name, `${name.split('/')[0]}/${keepAs}`) : null;
    if (keep !== null && isThere(keep))
      throw new SqlRefusal('SQLITE_MISUSE', 'there is a database of that name already');
    replaceFile(this.#deps.pathOf(name), from, keep);
    this.#deps.changed(name);
    job.answer(kinds.json, '{}');
  }

  #failure(error: unknown): [kind: number, payload: string] {
    if (error instanceof SqlRefusal) return [kinds.json, error.toJson()];
    const { code, details } = error as { code?: unknown; details?: unknown };
    if (isErrorCode(code)) return [kinds.failure, JSON.stringify([code, details])];
    const { message, errcode } = error as { message?: string; errcode?: number };
    this.#deps.report(`database not opened: ${message} (${errcode ?? String(code)})`);
    const reason = errcode !== undefined && (errcode & 0xff) === 13 ? 'the disk is full' : 'its file cannot be opened';
    return [kinds.failure, JSON.stringify(['database_unavailable', { reason }])];
  }

  /** Whether no database of a project has a transaction, a copy or a waiting request. */
  isQuiet(project: string): boolean {
    return [...this.#open].every(([name, file]) => projectOf(name) !== project || file.isIdle);
  }

  leave(owner: object): void {
    for (const file of this.#open.values()) file.leave(owner);
  }

  /** Closes the files of a project; null means all. */
  close(project: string | null = null): void {
    for (const [name, file] of this.#open) {
      if (project !== null && projectOf(name) !== project) continue;
      this.#open.delete(name);
      file.close();
    }
    this.#latest = '';
  }
}
