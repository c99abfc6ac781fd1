// The storage steps of an object's code, in order. Asynchronous steps are collected until the end of the entry and
// committed together. A synchronous step is sent with all waiting steps, and its thread waits for the reply.
import { fromJson, toJson } from '../../safe.ts';
import { openCall } from '../../calls.ts';
import { host, type HostReply } from '../../host.ts';
import { currentInvocation } from '../../invocation.ts';
import { sendAtEntryEnd, type StorageBatch } from '../../object-records.ts';
import type { Gate } from './gate.ts';

/** The reply to some steps (core/object-storage.ts). */
interface Reply {
  readonly v?: readonly unknown[];
  readonly t?: number;
  readonly e?: readonly [code: string, message: string];
}

interface Waiter {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Collected {
  readonly batch: StorageBatch;
  readonly done: Promise<void>;
  /** Callbacks for the results of the steps in the batch. */
  waiters: Waiter[];
}

/** How a step is requested. */
interface StepOptions {
  /** Whether other events may not enter the object until the reply. */
  readonly closesGate: boolean;
  readonly writes: boolean;
  readonly isUnconfirmed?: boolean;
  readonly alarm?: number;
}

/** Maximum number of characters of steps that wait for the end of the entry. */
const COLLECTED_MAX = 8 * 1024 * 1024;

export class StorageQueue {
  readonly #object: string;
  readonly #gate: Gate;
  #collected: Collected | null = null;
  #last: Promise<void> = Promise.resolve();
  /** Number of open transactions that span several entries. */
  openTransactions = 0;

  constructor(object: string, gate: Gate) {
    this.#object = object;
    this.#gate = gate;
  }

  /** Resolves when all requested writes are on disk. */
  settled(): Promise<void> {
    return this.#last;
  }

  /** Number of characters of steps that wait for the end of the entry. */
  get waitingChars(): number {
    return this.#collected?.batch.steps.length ?? 0;
  }

  /** Adds a step to the steps of this entry. */
  add(step: readonly unknown[], options: StepOptions): Promise<unknown> {
    const { batch, waiters } = this.#collect();
    const text = toJson(step);
    if (batch.steps.length + text.length > COLLECTED_MAX)
      throw new RangeError(`More than ${COLLECTED_MAX} characters of storage are written in one turn`);
    batch.steps += batch.steps === '' ? text : `,${text}`;
    if (options.writes) batch.writes = true;
    if (options.isUnconfirmed !== true) batch.isUnconfirmed = false;
    if (options.alarm !== undefined) batch.alarm = options.alarm;
    const gate = this.#gate;
    if (options.closesGate) gate.reads++;
    return new Promise((resolve, reject) => {
      const release = (): void => {
        if (!options.closesGate) return;
        gate.reads--;
        gate.open();
      };
      waiters.push({
        resolve(value) {
          resolve(value);
          release();
        },
        reject(error) {
          reject(error as Error);
          release();
        },
      });
    });
  }

  /** Adds a step and waits for its result. */
  now(step: readonly unknown[], writes: boolean): unknown {
    // Steps of a sent batch are settled by the host's reply. If they were also settled here, the gate would open twice.
    const collected = this.#collected?.batch.isSent === false ? this.#collected : null;
    const text = toJson(step);
    const before = collected?.batch.steps ?? '';
    const waiters = collected?.waiters ?? [];
    const steps = before === '' ? `[${text}]` : `[${before},${text}]`;
    const alarm = collected?.batch.alarm;
    const args = { object: this.#object, end: 0, ...(alarm === undefined ? {} : { alarm }) };
    let reply: HostReply;
    try {
      reply = host.callWaiting('object.storage', args, [host.utf8Encode(steps)]);
    } catch (error) {
      for (const waiter of waiters) waiter.reject(error);
      throw error;
    } finally {
      if (collected !== null) {
        collected.batch.steps = '';
        collected.waiters = [];
      }
    }
    const { v = [], t = 0 } = fromJson(host.utf8Decode(reply.parts[0] as Uint8Array)) as Reply;
    waiters.forEach((waiter, index) => settle(waiter, v[index]));
    if (writes || t !== 0) {
      const { batch } = this.#collect();
      batch.writes = true;
      // No output of the object is sent before the commit.
      batch.isUnconfirmed = false;
    }
    const result = v[waiters.length];
    const error = errorIn(result);
    if (error !== null) throw error;
    return result;
  }

  #collect(): Collected {
    const known = this.#collected;
    if (known !== null && !known.batch.isSent) {
      known.batch.staysOpen = this.openTransactions > 0;
      return known;
    }
    const owner = currentInvocation();
    const { id, reply } = openCall(owner, undefined, true);
    const batch: StorageBatch = {
      call: id,
      invocation: owner?.id ?? 0,
      object: this.#object,
      steps: '',
      staysOpen: this.openTransactions > 0,
      writes: false,
      isUnconfirmed: true,
      alarm: undefined,
      next: null,
      isSent: false,
    };
    sendAtEntryEnd(batch);
    const done = reply.then(
      ({ parts }) => {
        const { v = [] } = fromJson(parts[0] as string) as Reply;
        collected.waiters.forEach((waiter, index) => settle(waiter, v[index]));
      },
      (error: unknown) => {
        for (const waiter of collected.waiters) waiter.reject(error);
        throw error;
      },
    );
    // The host disposes the isolate after a failed write.
    done.catch(() => {});
    const collected: Collected = { batch, done, waiters: [] };
    this.#collected = collected;
    this.#last = done;
    return collected;
  }

  /** Called when a transaction over several entries begins (1) or ends (-1). */
  count(change: 1 | -1): void {
    this.openTransactions += change;
    const { batch } = this.#collect();
    batch.staysOpen = this.openTransactions > 0;
    batch.writes = true;
    batch.isUnconfirmed = false;
  }
}

function settle(waiter: Waiter, result: unknown): void {
  const error = errorIn(result);
  if (error === null) waiter.resolve(result);
  else waiter.reject(error);
}

/** Converts the error of a statement to the format of the platform's other SQLite APIs. */
function errorIn(result: unknown): Error | null {
  if (typeof result !== 'object' || result === null || !Object.hasOwn(result, 'e')) return null;
  const [code, message] = (result as { e: readonly [string, string] }).e;
  return new Error(`${message}: ${code}`);
}
