// Storage limits of a project for state and queues. There is an estimate per project, so that writes do not wait for a
// count. Usage is counted at the first write and once an hour, and writes in between are added as if they replaced
// nothing. Only when the estimate reaches the limit, a write waits for a new count before it is refused. Engines learn
// of each other's writes only through these counts.
import { PlatformError } from '#core/errors.ts';
import { ofPreview, withoutPreview } from '#core/preview.ts';
import { unlimitedStorage, type StorageGuard } from '#core/storage-left.ts';
import type { QueueStore } from '../engine/bindings/queue.ts';
import type { StateStore } from '../engine/bindings/state.ts';
import type { TimerStore } from '../engine/bindings/timer.ts';
import type { WorkflowStore } from '../engine/bindings/workflow.ts';
import { likePrefix, type Sql } from './sql.ts';

interface Estimate {
  bytes: number;
  countedAt: number;
  /** Time after which usage is counted again. */
  pauseMs: number;
  counting: Promise<void> | null;
}

const RECOUNT_MS = 60 * 60 * 1000;
/** Minimum interval of counts for a project at its limit. Counts take at most a tenth of the time. */
const RECOUNT_MS_LEAST = 2000;
const PAUSES_ACOUNT = 9;
const PROJECTS_MAX = 10_000;
/** Size of a row in addition to its text. */
export const ROW_BYTES = 100;

/** The stored bytes of projects in one kind of store. */
export class ProjectLimit {
  #what: string;
  #bytesMax: number;
  #count: (namespace: string) => Promise<number>;
  #storage: StorageGuard;
  #now: () => number;
  #estimates = new Map<string, Estimate>();

  /**
   * @param what the name in error messages. `count` returns bytes. @param storage the remaining storage of
   *   organizations.
   */
  constructor(
    what: string,
    bytesMax: number,
    count: (namespace: string) => Promise<number>,
    storage: StorageGuard,
    now: () => number = () => performance.now(),
  ) {
    this.#what = what;
    this.#bytesMax = bytesMax;
    this.#count = count;
    this.#storage = storage;
    this.#now = now;
  }

  /**
   * Adds bytes that will be written; returns a promise if a count is needed first. @throws {PlatformError}
   * `quota_exceeded`.
   */
  admit(namespace: string, bytes: number): void | Promise<void> {
    const estimate = this.#of(namespace);
    if (estimate.bytes + bytes <= this.#bytesMax) {
      this.#storage.take(namespace, bytes);
      estimate.bytes += bytes;
    } else return this.#counted(namespace, estimate).then(() => this.add(namespace, bytes));
  }

  /** Like `admit`, for callers that cannot wait: call `settled` first. */
  add(namespace: string, bytes: number): void {
    const estimate = this.#of(namespace);
    if (bytes > 0 && estimate.bytes + bytes > this.#bytesMax)
      throw new PlatformError('quota_exceeded', { what: this.#what, limit: `${this.#bytesMax} bytes` });
    this.#storage.take(namespace, bytes);
    estimate.bytes += bytes;
  }

  /** Returns a promise if the estimate has reached the limit, and may be out of date. */
  settled(namespace: string): void | Promise<void> {
    const estimate = this.#of(namespace);
    if (estimate.bytes >= this.#bytesMax) return this.#counted(namespace, estimate);
  }

  /** Known bytes. */
  estimate(namespace: string): number {
    return this.#estimates.get(namespace)?.bytes ?? 0;
  }

  #of(namespace: string): Estimate {
    let estimate = this.#estimates.get(namespace);
    if (estimate === undefined) {
      estimate = { bytes: 0, countedAt: -Infinity, pauseMs: 0, counting: null };
      if (this.#estimates.size >= PROJECTS_MAX) this.#estimates.delete(this.#estimates.keys().next().value as string);
      this.#estimates.set(namespace, estimate);
    }
    if (this.#now() - estimate.countedAt > RECOUNT_MS) void this.#counted(namespace, estimate);
    return estimate;
  }

  #counted(namespace: string, estimate: Estimate): Promise<void> {
    if (estimate.counting === null && this.#now() - estimate.countedAt < estimate.pauseMs) return Promise.resolve();
    estimate.counting ??= this.#recount(namespace, estimate);
    return estimate.counting;
  }

  async #recount(namespace: string, estimate: Estimate): Promise<void> {
    // Writes during the count are either in the count, or are added to it.
    const before = estimate.bytes;
    const began = this.#now();
    try {
      const counted = await this.#count(namespace);
      estimate.bytes = counted + Math.max(0, estimate.bytes - before);
    } catch {
      // If the store is unavailable, the write itself reports this.
    }
    estimate.countedAt = this.#now();
    estimate.pauseMs = Math.max(RECOUNT_MS_LEAST, PAUSES_ACOUNT * (estimate.countedAt - began));
    estimate.counting = null;
  }
}

/** A store of state that enforces the projects' limits. */
export function limitState(store: StateStore, limit: ProjectLimit): StateStore {
  const within = <Result>(
    ready: void | Promise<void>,
    work: () => Result | Promise<Result>,
  ): Result | Promise<Result> => (ready === undefined ? work() : ready.then(work));
  return {
    get: (...call) => store.get(...call),
    delete: (...call) => store.delete(...call),
    list: (...call) => store.list(...call),
    clear: (namespace) => store.clear(namespace),
    put(place, key, record, ...rest) {
      const bytes = key.length + record.value.length + (record.metadata?.length ?? 0) + ROW_BYTES;
      return within(limit.admit(place.namespace, bytes), () => store.put(place, key, record, ...rest));
    },
    update(place, key, change, now) {
      const changed = (before: string | undefined): string => {
        const after = change(before);
        limit.add(place.namespace, after.length - (before === undefined ? -key.length - ROW_BYTES : before.length));
        return after;
      };
      return within(limit.settled(place.namespace), () => store.update(place, key, changed, now));
    },
  };
}

/** A store of queues that enforces the projects' limits: waiting messages, and dead letters. */
export function limitQueue(store: QueueStore, limit: ProjectLimit): QueueStore {
  return {
    ...store,
    async send(place, sender, messages, now) {
      let bytes = 0;
      for (const { payload } of messages) bytes += payload.length + ROW_BYTES;
      // The usage of previews is counted for the project.
      await limit.admit(withoutPreview(place.namespace), bytes);
      return store.send(place, sender, messages, now);
    },
  };
}

/** A store of timers that refuses new timers if the organization's storage is full. */
export function limitTimers(store: TimerStore, storage: StorageGuard): TimerStore {
  return {
    ...store,
    async set(place, sender, timer, now) {
      storage.take(place.namespace, timer.payload.length + ROW_BYTES);
      return store.set(place, sender, timer, now);
    },
  };
}

/**
 * A store of workflows that refuses new runs and events if the organization's storage is full. Running runs may
 * continue to write, within the limit of their history.
 */
export function limitWorkflows(store: WorkflowStore, storage: StorageGuard): WorkflowStore {
  return {
    ...store,
    async trigger(place, owner, run, now) {
      storage.take(place.namespace, run.input.length + ROW_BYTES);
      return store.trigger(place, owner, run, now);
    },
    async sendEvent(place, id, event, now) {
      storage.take(place.namespace, event.payload.length + ROW_BYTES);
      return store.sendEvent(place, id, event, now);
    },
  };
}

/** The stored state of projects. @param count returns the bytes of a namespace, as counted by each store of state. */
export function stateLimit(
  count: (namespace: string) => Promise<number>,
  bytesMax: number,
  storage: StorageGuard = unlimitedStorage,
): ProjectLimit {
  return new ProjectLimit('The state of this project', bytesMax, count, storage);
}

/** Counts the bytes of a namespace in the table of state. */
export function stateBytesOf(sql: Sql, namespace: string): Promise<number> {
  const text = `SELECT coalesce(sum(octet_length(key) + octet_length(value) + coalesce(octet_length(metadata), 0) + ${ROW_BYTES}), 0) AS bytes
    FROM state WHERE namespace = $1`;
  return bytesOf(sql, text, namespace);
}

/** The stored messages of projects. */
export function queueLimit(sql: Sql, bytesMax: number, storage: StorageGuard = unlimitedStorage): ProjectLimit {
  const text = `SELECT coalesce(sum(octet_length(payload) + ${ROW_BYTES}), 0) AS bytes
    FROM queue_message WHERE lane_id IN (SELECT id FROM lane WHERE kind = 'queue' AND (namespace = $1 OR namespace LIKE $2 ESCAPE '!'))`;
  const count = (project: string): Promise<number> => bytesOf(sql, text, project, likePrefix(ofPreview(project, '')));
  return new ProjectLimit('The messages of this project', bytesMax, count, storage);
}

async function bytesOf(sql: Sql, text: string, ...names: string[]): Promise<number> {
  const [row] = await sql.all<{ bytes: number | string }>(text, ...names);
  return Number(row?.bytes ?? 0);
}
