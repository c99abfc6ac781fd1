// The storage of one durable object in this engine. Sends requests to the database service one after the other, with
// the number of this holder. The alarm's timer is set before the alarm is committed, and cleared afterwards. Made by
// live-objects.ts.
import { PlatformError } from '#core/errors.ts';
import { objectOps, SHUT_OUT, transactionEnds } from '#core/object-storage.ts';
import type { DatabaseStore, StatementOwner } from '../../bindings/database.ts';
import type { DatabasePlace } from '../../bindings/scope.ts';
import type { AlarmOwner, ObjectAlarms } from './object-alarms.ts';

interface ObjectStoreDeps {
  readonly store: DatabaseStore | null;
  readonly alarms: ObjectAlarms | null;
  readonly place: DatabasePlace;
  readonly owner: AlarmOwner;
  /** Number of this holder. */
  readonly fence: number;
}

/** Requested steps of the object's code. */
export interface StorageRequest {
  /** JSON list (core/object-storage.ts); untrusted. */
  readonly steps: string;
  /** Whether the transaction is committed afterwards. */
  readonly commits: boolean;
  /** A new alarm; -1 removes the alarm, undefined leaves it unchanged. */
  readonly alarm: number | undefined;
  readonly owner: StatementOwner | undefined;
}

/** How long an operator's request waits for the object's transaction to end. */
const ASIDE_MS = 10_000;

const replyHead = /^\{"t":(\d{1,10}),/;
const refusalHead = /^\{"e":/;

export class ObjectStore {
  readonly #deps: ObjectStoreDeps;
  /** Number of the open transaction; 0 if none is open. */
  #transaction = 0;
  /** Changes when the instance is lost, whose waiting requests are then dropped. */
  #instance = 0;
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** The time of the alarm's timer; undefined if unknown. */
  #timerAt: number | null | undefined = undefined;
  /** Operators' requests that wait for a transaction to end. */
  #asides: (() => void)[] = [];
  /** The alarm that the next commit sets; undefined if unchanged. */
  #nextAlarm: number | undefined = undefined;

  constructor(deps: ObjectStoreDeps) {
    this.#deps = deps;
  }

  get fence(): number {
    return this.#deps.fence;
  }

  get isBusy(): boolean {
    return this.#waiting > 0 || this.#transaction !== 0;
  }

  /** Whether a transaction is open, which a failure would roll back. */
  get isOpen(): boolean {
    return this.#transaction !== 0;
  }

  /**
   * @returns JSON of the reply.
   * @throws {PlatformError} `object_reset` with the reason; uncommitted changes are then rolled back.
   */
  request(request: StorageRequest): Promise<string> {
    const instance = this.#instance;
    return this.#next(async () => {
      if (instance !== this.#instance) throw new PlatformError('object_reset', { reason: 'its instance is gone' });
      return this.#run(request);
    });
  }

  /**
   * Runs an operator's steps in a separate transaction, between the transactions of the object.
   *
   * @returns JSON of the reply. @throws {PlatformError} with the reason; the data is then unchanged.
   */
  async aside(steps: string): Promise<string> {
    const until = performance.now() + ASIDE_MS;
    for (;;) {
      const reply = await this.#next(async () =>
        this.#transaction === 0 ? this.#send(0, transactionEnds.commitUnlessRefused, steps, undefined) : null,
      );
      if (reply !== null) return reply;
      if (performance.now() > until)
        throw new PlatformError('conflict', { reason: 'The object is inside a transaction: try again' });
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ASIDE_MS);
        this.#asides.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** Rolls back the uncommitted changes of a lost instance. */
  restart(): void {
    this.#instance++;
    this.#nextAlarm = undefined;
    this.#next(async () => {
      if (this.#transaction === 0) return;
      const open = this.#transaction;
      this.#transaction = 0;
      await this.#send(open, transactionEnds.undo, '[]', undefined);
    }).catch(() => {});
  }

  #next<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#waiting++;
    const done = this.#tail.then(work, work).finally(() => {
      this.#waiting--;
      if (this.#transaction === 0) for (const goOn of this.#asides.splice(0)) goOn();
    });
    this.#tail = done.catch(() => {});
    return done;
  }

  async #run({ steps, commits, alarm, owner }: StorageRequest): Promise<string> {
    if (alarm !== undefined) {
      this.#nextAlarm = alarm;
      if (alarm >= 0) await this.#wakeBy(alarm);
    }
    const end = commits ? transactionEnds.commit : transactionEnds.stays;
    const reply = await this.#send(this.#transaction, end, steps, owner);
    this.#transaction = Number(replyHead.exec(reply)?.[1] ?? 0);
    if (commits) await this.#setTimer();
    return reply;
  }

  async #send(open: number, end: number, steps: string, owner: StatementOwner | undefined): Promise<string> {
    const { store, place, fence, owner: object } = this.#deps;
    if (store === null)
      throw new PlatformError('object_reset', { reason: 'this handler has no database service for its storage' });
    const name = object.name === undefined ? '' : `,${JSON.stringify(object.name)}`;
    const payload = `[${fence},${open},${end},${steps}${name}]`;
    let reply: string;
    try {
      reply = (await store.run(place, objectOps.steps, 0, payload, owner)) as string;
    } catch (error) {
      this.#transaction = 0;
      throw new PlatformError('object_reset', { reason: (error as Error).message }, { cause: error });
    }
    if (!refusalHead.test(reply)) return reply;
    this.#transaction = 0;
    const [code, message] = (JSON.parse(reply) as { e: [string, string] }).e;
    throw new PlatformError('object_reset', { reason: `${message} (${code})`, isShutOut: code === SHUT_OUT });
  }

  /** The timer must not be later than the alarm. */
  async #wakeBy(alarm: number): Promise<void> {
    const { alarms, owner } = this.#deps;
    if (alarms === null)
      throw new PlatformError('object_reset', { reason: 'this handler has no timers for its alarm' });
    if (this.#timerAt === undefined) this.#timerAt = await alarms.get(owner);
    // A timer that is due may have fired.
    if (this.#timerAt !== null && this.#timerAt > Date.now() && this.#timerAt <= alarm) return;
    await alarms.set(owner, alarm);
    this.#timerAt = alarm;
  }

  /** The alarm is committed, so the timer no longer needs to be earlier. */
  async #setTimer(): Promise<void> {
    const alarm = this.#nextAlarm;
    const { alarms, owner } = this.#deps;
    if (alarm === undefined || alarms === null) return;
    this.#nextAlarm = undefined;
    try {
      if (alarm < 0) await alarms.delete(owner);
      else if (this.#timerAt !== alarm) await alarms.set(owner, alarm);
      this.#timerAt = alarm < 0 ? null : alarm;
    } catch {
      // If this fails, the timer fires early and finds no due alarm.
      this.#timerAt = undefined;
    }
  }

  /** Called when the timer of the alarm has fired. */
  fired(): void {
    this.#timerAt = undefined;
  }
}
