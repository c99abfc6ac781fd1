// `ctx.storage` of a durable object: keys with values of any kind that can be copied, the alarm, transactions.
import { useModule } from '../../modules.ts';
import { fromJson, toJson } from '../../safe.ts';
import type { Gate } from './gate.ts';
import { SqlStorage } from './sql.ts';
import type { StorageQueue } from './storage-queue.ts';

interface Options {
  readonly allowConcurrency?: boolean;
  readonly allowUnconfirmed?: boolean;
}

interface ListOptions extends Options {
  readonly start?: string;
  readonly startAfter?: string;
  readonly end?: string;
  readonly prefix?: string;
  readonly reverse?: boolean;
  readonly limit?: number;
}

/** Size limits of a key and of a value. */
const CHARS_MAX = 2_000_000;
/**
 * Below this amount of waiting writes, code does not have to wait for a write, because no output is sent before the
 * write is on disk.
 */
const UNWAITED_CHARS_MAX = 256 * 1024;
const DATE_MAX = 8.64e15;

function toKey(key: unknown): string {
  const text = String(key);
  if (text.length > CHARS_MAX) throw new RangeError(`Keys cannot be larger than ${CHARS_MAX} bytes.`);
  return text;
}

function toKeys(keys: readonly unknown[]): string[] {
  return keys.map(toKey);
}

function encode(value: unknown): string {
  if (value === undefined) throw new TypeError('put() called with undefined value.');
  const text = toJson(useModule('stored-values').toStored(value));
  if (text.length > CHARS_MAX) throw new RangeError(`Values cannot be larger than ${CHARS_MAX} bytes.`);
  return text;
}

function decode(text: unknown): unknown {
  return text === null ? undefined : useModule('stored-values').fromStored(fromJson(text as string));
}

function toPairs(entries: object): string[] {
  const pairs: string[] = [];
  for (const key of Object.keys(entries)) {
    const value = (entries as Record<string, unknown>)[key];
    // As in Cloudflare's API, a pair without a value is omitted.
    if (value !== undefined) pairs.push(toKey(key), encode(value));
  }
  return pairs;
}

function toRange(options: ListOptions = {}): object {
  const { start, startAfter, end, prefix, reverse, limit } = options;
  if (start !== undefined && startAfter !== undefined)
    throw new TypeError('list() cannot be called with both start and startAfter values.');
  if (limit !== undefined && !(Number(limit) > 0)) throw new TypeError('List limit must be positive.');
  return { start, startAfter, end, prefix, reverse: reverse === true, limit };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Methods that transactions also have. */
class Entries {
  readonly queue: StorageQueue;

  constructor(queue: StorageQueue) {
    this.queue = queue;
  }

  async #read(step: readonly unknown[], options: Options | undefined): Promise<unknown> {
    return this.queue.add(step, { closesGate: options?.allowConcurrency !== true, writes: false });
  }

  /** Requests a write, which callers rarely await. */
  write(step: readonly unknown[], options: Options | undefined, alarm?: number): Promise<unknown> {
    const added = this.queue.add(step, {
      closesGate: false,
      writes: true,
      isUnconfirmed: options?.allowUnconfirmed === true,
      ...(alarm === undefined ? {} : { alarm }),
    });
    added.catch(() => {});
    return this.queue.waitingChars > UNWAITED_CHARS_MAX ? added : Promise.resolve();
  }

  async get(key: unknown, options?: Options): Promise<unknown> {
    if (!Array.isArray(key)) {
      const [text] = (await this.#read(['g', toKey(key)], options)) as [unknown];
      return decode(text);
    }
    const keys = toKeys(key).toSorted(compare);
    const texts = (await this.#read(['g', ...keys], options)) as unknown[];
    const found = new Map<string, unknown>();
    keys.forEach((name, index) => {
      if (texts[index] !== null) found.set(name, decode(texts[index]));
    });
    return found;
  }

  async put(key: unknown, value?: unknown, options?: unknown): Promise<void> {
    const isMany = typeof key === 'object' && key !== null;
    const pairs = isMany ? toPairs(key) : [toKey(key), encode(value)];
    if (pairs.length > 0) await this.write(['p', ...pairs], (isMany ? value : options) as Options | undefined);
  }

  async delete(key: unknown, options?: Options): Promise<boolean | number> {
    const isMany = Array.isArray(key);
    const keys = isMany ? toKeys(key) : [toKey(key)];
    const count = (await this.queue.add(['d', ...keys], {
      closesGate: options?.allowConcurrency !== true,
      writes: true,
      isUnconfirmed: options?.allowUnconfirmed === true,
    })) as number;
    return isMany ? count : count > 0;
  }

  async list(options?: ListOptions): Promise<Map<string, unknown>> {
    const rows = (await this.#read(['l', toRange(options)], options)) as [string, string][];
    return new Map(rows.map(([key, text]) => [key, decode(text)]));
  }

  async getAlarm(options?: Options): Promise<number | null> {
    return (await this.#read(['a'], options)) as number | null;
  }

  async setAlarm(time: unknown, options?: Options): Promise<void> {
    const ms = time instanceof Date ? time.getTime() : Number(time);
    if (!(ms >= 0 && ms <= DATE_MAX))
      throw new TypeError('setAlarm() cannot be called with an alarm time that is not a date after 1970');
    const at = Math.floor(ms);
    await this.write(['A', at], options, at);
  }

  async deleteAlarm(options?: Options): Promise<void> {
    await this.write(['A', null], options, -1);
  }
}

class DurableObjectTransaction {
  readonly #entries: Entries;
  readonly #undo: () => void;

  constructor(entries: Entries, undo: () => void) {
    this.#entries = entries;
    this.#undo = undo;
  }

  get(key: unknown, options?: Options): Promise<unknown> {
    return this.#entries.get(key, options);
  }

  put(key: unknown, value?: unknown, options?: unknown): Promise<void> {
    return this.#entries.put(key, value, options);
  }

  delete(key: unknown, options?: Options): Promise<boolean | number> {
    return this.#entries.delete(key, options);
  }

  list(options?: ListOptions): Promise<Map<string, unknown>> {
    return this.#entries.list(options);
  }

  getAlarm(options?: Options): Promise<number | null> {
    return this.#entries.getAlarm(options);
  }

  setAlarm(time: unknown, options?: Options): Promise<void> {
    return this.#entries.setAlarm(time, options);
  }

  deleteAlarm(options?: Options): Promise<void> {
    return this.#entries.deleteAlarm(options);
  }

  rollback(): void {
    this.#undo();
  }
}

/** The synchronous methods for keys and values. */
class SyncKvStorage {
  readonly #queue: StorageQueue;

  constructor(queue: StorageQueue) {
    this.#queue = queue;
  }

  get(key: unknown): unknown {
    return decode((this.#queue.now(['g', toKey(key)], false) as [unknown])[0]);
  }

  put(key: unknown, value: unknown): void {
    const added = this.#queue.add(['p', toKey(key), encode(value)], { closesGate: false, writes: true });
    added.catch(() => {});
  }

  delete(key: unknown): boolean {
    return (this.#queue.now(['d', toKey(key)], true) as number) > 0;
  }

  list(options?: ListOptions): Iterable<[string, unknown]> {
    const rows = this.#queue.now(['l', toRange(options)], false) as [string, string][];
    return rows.map(([key, text]): [string, unknown] => [key, decode(text)]).values();
  }
}

function noBookmarks(method: string): never {
  throw new Error(
    `${method} is not supported: this platform has no bookmarks of durable objects. Use its backups instead`,
  );
}

/** What the storage needs from its object. */
export interface StorageOwner {
  readonly queue: StorageQueue;
  readonly gate: Gate;
  alone<Result>(section: () => Promise<Result>): Promise<Result>;
  /** Whether the alarm is running; `getAlarm` then only returns an alarm that was set since it began. */
  readonly alarm: { isRunning: boolean; wasSet: boolean };
  /** Whether the object's class has a method that an alarm can call. */
  readonly hasAlarm: boolean;
}

export class DurableObjectStorage {
  readonly #owner: StorageOwner;
  readonly #entries: Entries;
  #depth = 0;
  readonly sql: SqlStorage;
  readonly kv: SyncKvStorage;

  constructor(owner: StorageOwner) {
    this.#owner = owner;
    this.#entries = new Entries(owner.queue);
    this.sql = new SqlStorage(owner.queue);
    this.kv = new SyncKvStorage(owner.queue);
  }

  get(key: unknown, options?: Options): Promise<unknown> {
    return this.#entries.get(key, options);
  }

  put(key: unknown, value?: unknown, options?: unknown): Promise<void> {
    return this.#entries.put(key, value, options);
  }

  delete(key: unknown, options?: Options): Promise<boolean | number> {
    return this.#entries.delete(key, options);
  }

  list(options?: ListOptions): Promise<Map<string, unknown>> {
    return this.#entries.list(options);
  }

  async deleteAll(options?: Options): Promise<void> {
    await this.#entries.write(['x', 0], options);
  }

  async getAlarm(options?: Options): Promise<number | null> {
    const { alarm } = this.#owner;
    return alarm.isRunning && !alarm.wasSet ? null : this.#entries.getAlarm(options);
  }

  setAlarm(time: unknown, options?: Options): Promise<void> {
    if (!this.#owner.hasAlarm)
      return Promise.reject(
        new TypeError('Your Durable Object class must have an alarm() handler in order to call setAlarm()'),
      );
    this.#owner.alarm.wasSet = true;
    return this.#entries.setAlarm(time, options);
  }

  deleteAlarm(options?: Options): Promise<void> {
    this.#owner.alarm.wasSet = true;
    return this.#entries.deleteAlarm(options);
  }

  sync(): Promise<void> {
    return this.#owner.queue.settled();
  }

  /** Runs a function alone and atomically, without retries. */
  transaction<Result>(closure: (transaction: unknown) => Promise<Result>): Promise<Result> {
    const { queue } = this.#owner;
    return this.#owner.alone(async () => {
      const number = ++this.#depth;
      queue.count(1);
      let isUndone = false;
      const ignored = (step: readonly unknown[]): void => {
        queue.add(step, { closesGate: false, writes: true }).catch(() => {});
      };
      ignored(['s', number]);
      const undo = (): void => {
        isUndone = true;
      };
      try {
        const result = await closure(new DurableObjectTransaction(this.#entries, undo));
        ignored([isUndone ? 'b' : 'r', number]);
        return result;
      } catch (error) {
        ignored(['b', number]);
        throw error;
      } finally {
        this.#depth--;
        queue.count(-1);
      }
    });
  }

  transactionSync<Result>(closure: () => Result): Result {
    const { queue } = this.#owner;
    const number = ++this.#depth;
    try {
      queue.now(['s', number], true);
      let result: Result;
      try {
        result = closure();
      } catch (error) {
        queue.now(['b', number], true);
        throw error;
      }
      queue.now(['r', number], true);
      return result;
    } finally {
      this.#depth--;
    }
  }

  async getCurrentBookmark(): Promise<string> {
    return noBookmarks('getCurrentBookmark');
  }

  async getBookmarkForTime(): Promise<string> {
    return noBookmarks('getBookmarkForTime');
  }

  async onNextSessionRestoreBookmark(): Promise<string> {
    return noBookmarks('onNextSessionRestoreBookmark');
  }
}
