// Requests of a database that wait for the interactive transaction, or for another process that writes to the file: run
// in order of arrival. Called by database-file.ts.
import { SqlRefusal } from '#core/database-request.ts';
import type { DatabaseLimits } from '#core/limits.ts';
import { kinds } from '../protocol/frames.ts';
import type { Job } from './job.ts';

/** Pause before checking again whether another process still writes. */
const [HELD_PAUSE_MS, HELD_PAUSE_MS_MAX] = [5, 100];

interface WaitingJobsDeps {
  readonly limits: DatabaseLimits;
  /** Whether the interactive transaction is open. */
  isInTransaction(): boolean;
  /** Runs a job. @param until the time at which the job stops waiting for another process. */
  perform(job: Job, until: number): void;
}

interface Waiting {
  readonly job: Job;
  readonly until: number;
}

export class WaitingJobs {
  readonly #deps: WaitingJobsDeps;
  #waiting: Waiting[] = [];
  #waitTimer: NodeJS.Timeout | null = null;
  /** Another process, an import, writes to the file: no writes are attempted until this timer fires. */
  #heldTimer: NodeJS.Timeout | null = null;
  #heldPauseMs = HELD_PAUSE_MS;

  constructor(deps: WaitingJobsDeps) {
    this.#deps = deps;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Another transaction or process is writing. */
  get isTaken(): boolean {
    return this.#deps.isInTransaction() || this.#heldTimer !== null;
  }

  /** Makes a job wait; refuses it when too many jobs are waiting. */
  add(job: Job): void {
    const { waitingMax, waitMs } = this.#deps.limits;
    if (this.#waiting.length >= waitingMax) {
      const message = `more than ${waitingMax} requests wait for a transaction of this database`;
      job.answer(kinds.json, new SqlRefusal('SQLITE_BUSY', message).toJson());
      return;
    }
    this.#waiting.push({ job, until: performance.now() + waitMs });
    this.#waitTimer ??= setTimeout(() => this.#giveUp(), waitMs);
  }

  /**
   * Called when another process writes: the job becomes the first that is retried in a moment. Other jobs of this
   * process are served in the meantime.
   */
  hold(job: Job, until = performance.now() + this.#deps.limits.waitMs): void {
    this.#waiting.unshift({ job, until });
    this.#waitTimer ??= setTimeout(() => this.#giveUp(), this.#deps.limits.waitMs);
    this.#heldTimer = setTimeout(() => {
      this.#heldTimer = null;
      this.drain();
    }, this.#heldPauseMs);
    this.#heldPauseMs = Math.min(HELD_PAUSE_MS_MAX, 2 * this.#heldPauseMs);
  }

  #giveUp(): void {
    this.#waitTimer = null;
    const now = performance.now();
    const late = this.#waiting.filter(({ until }) => until <= now);
    this.#waiting = this.#waiting.filter(({ until }) => until > now);
    const message = `database is locked: a transaction took longer than ${this.#deps.limits.waitMs} ms`;
    for (const { job } of late) job.answer(kinds.json, new SqlRefusal('SQLITE_BUSY', message).toJson());
    const next = this.#waiting[0];
    if (next !== undefined) this.#waitTimer = setTimeout(() => this.#giveUp(), next.until - now + 1);
  }

  /** Runs the waiting jobs, until one of them takes the database. */
  drain(): void {
    if (this.isTaken) return;
    const turn = this.#waiting;
    this.#waiting = [];
    for (const [index, { job, until }] of turn.entries()) {
      if (this.isTaken) {
        this.#waiting.push(...turn.slice(index));
        break;
      }
      this.#deps.perform(job, until);
    }
    if (this.#heldTimer === null) this.#heldPauseMs = HELD_PAUSE_MS;
    if (this.#waiting.length === 0 && this.#waitTimer !== null) {
      clearTimeout(this.#waitTimer);
      this.#waitTimer = null;
    }
  }

  /** Drops the jobs of a connection that has closed. */
  drop(owner: object): void {
    this.#waiting = this.#waiting.filter(({ job }) => job.owner !== owner);
  }

  /** Refuses all jobs. */
  close(): void {
    if (this.#waitTimer !== null) clearTimeout(this.#waitTimer);
    this.#waitTimer = null;
    if (this.#heldTimer !== null) clearTimeout(this.#heldTimer);
    this.#heldTimer = null;
    for (const { job } of this.#waiting)
      job.answer(kinds.json, new SqlRefusal('SQLITE_ABORT', 'the database was closed or replaced: try again').toJson());
    this.#waiting = [];
  }
}
