// Decides when each isolate is entered. Everything that one tick of the event loop collects for an isolate enters it
// together. At most `runningMax` isolates run at a time, and the others take turns. While no isolate waits, a running
// isolate gets one more entry queued behind the current one, so that its thread continues without being woken (a tenth
// of a request's CPU at 8 connections). An entry that runs long while others wait loses its slot. From then on, the
// system shares the cores, and its deployment is deprioritized for a while: in one queue if its entries are slow, in
// another if they use much CPU, so that no working deployment waits for an endless loop. This module is pure: it only
// uses an interface of isolates.

/** Recent scheduling behavior of a deployment, shared by its isolates. */
export interface Conduct {
  /** Until when, by the scheduler's clock, entries of the isolate are deprioritized; 0 if they are not. */
  slowUntil: number;
  /** Whether the last entry without a slot used much CPU. */
  isBurning: boolean;
}

/** An isolate, as the scheduler sees it. */
export interface Enterable {
  /**
   * Moves everything that was collected into the isolate, behind an entry that is still running. The end of each entry
   * is reported by `EntryScheduler.left`.
   */
  enter(): void;
  /** State of scheduling, which only the scheduler changes. */
  entryState: EntryState;
  /** Whether the isolate's entry has lost its slot, and runs without one. Only the scheduler changes this. */
  isOvertime: boolean;
  /** When the entry lost its slot, and whether it uses much CPU. Only the scheduler changes this. */
  overtimeSince: number;
  isBurning: boolean;
  /** Round of the watch in which its entry began. Only the scheduler changes this. */
  enteredRound: number;
  readonly conduct: Conduct;
}

/**
 * `idle` has no work, `ready` waits for a slot, `running` is entered, and `ahead` is entered with a second entry queued
 * behind. With `again`, more work was collected since.
 */
export type EntryState = 'idle' | 'ready' | 'running' | 'again' | 'ahead' | 'ahead again';

/** Options of a scheduler. */
interface EntryOptions {
  /** Number of slots, which is the number of entries that run at a time while none of them runs long. */
  readonly runningMax: number;
  readonly defer: (callback: () => void) => void;
  /** Sets a timer; by default a timer that does not keep the process alive. */
  readonly later?: (callback: () => void, ms: number) => void;
  /** Returns milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** An entry that runs longer than one to two of these intervals while others wait loses its slot. */
const TURN_MS = 8;
/** How long a deployment is deprioritized after its entry lost its slot. */
const SLOW_MS = 2000;
/** An entry that runs longer than this without a slot is considered to burn CPU. */
const BURN_MS = 100;
/** Maximum number of entries without a slot. With more of them, every thread would wait long for a core. */
const OVERTIME_MAX = 32;
/** After this many starts of other isolates, a deprioritized isolate gets a slot even if others wait. */
const FAST_IN_A_ROW_MAX = 16;

/** A queue whose removals do not move the remaining items each time. */
class Waiting {
  #items: Enterable[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(isolate: Enterable): void {
    this.#items.push(isolate);
  }

  shift(): Enterable {
    const isolate = this.#items[this.#head] as Enterable;
    this.#head++;
    if (this.#head === this.#items.length) {
      this.#items.length = 0;
      this.#head = 0;
    } else if (this.#head > 1024) {
      this.#items.splice(0, this.#head);
      this.#head = 0;
    }
    return isolate;
  }

  remove(isolate: Enterable): void {
    const at = this.#items.indexOf(isolate, this.#head);
    if (at >= 0) this.#items.splice(at, 1);
  }
}

/**
 * Queues isolates, and limits the number of running entries.
 *
 * @example
 * const scheduler = new EntryScheduler({ runningMax: 2, defer: setImmediate });
 * scheduler.request(isolate); // and, when its entry has ended: scheduler.left(isolate)
 */
export class EntryScheduler {
  #ready = new Waiting();
  /** Deprioritized isolates in two groups: those that use little CPU, and those that use much. */
  #lasting = new Waiting();
  #burning = new Waiting();
  #lastingIsNext = true;
  #fastInARow = 0;
  /** Running isolates that may get their second entry in this tick. */
  #followers: Enterable[] = [];
  /** Number of isolates with a slot. */
  #placed: Enterable[] = [];
  /** Number of isolates without a slot, and how many of them burn CPU. */
  #overtime: Enterable[] = [];
  #burners = 0;
  #deferred = false;
  #watching = false;
  #round = 0;
  #runningMax: number;
  #defer: (callback: () => void) => void;
  #later: (callback: () => void, ms: number) => void;
  #now: () => number;
  #turn = (): void => {
    this.#deferred = false;
    this.#start();
    this.#follow();
  };
  #onWatch = (): void => {
    this.#watching = false;
    this.#takePlaces();
    this.#schedule();
  };

  constructor(options: EntryOptions) {
    this.#runningMax = options.runningMax;
    this.#defer = options.defer;
    this.#later = options.later ?? ((callback, ms) => void setTimeout(callback, ms).unref());
    this.#now = options.now ?? (() => performance.now());
  }

  /** Number of running entries, including those without a slot. */
  get running(): number {
    return this.#placed.length + this.#overtime.length;
  }

  /** Number of isolates that wait for a slot. */
  get waiting(): number {
    return this.#ready.length + this.#lasting.length + this.#burning.length;
  }

  /** Called when the isolate has input for an entry. */
  request(isolate: Enterable): void {
    if (isolate.entryState === 'running') {
      isolate.entryState = 'again';
      this.#followers.push(isolate);
      this.#schedule();
    } else if (isolate.entryState === 'ahead') {
      isolate.entryState = 'ahead again';
    } else if (isolate.entryState === 'idle') {
      isolate.entryState = 'ready';
      this.#queueOf(isolate).push(isolate);
      this.#schedule();
    }
  }

  /**
   * Called when an entry has ended. @param cpuMs the CPU time of the entry's thread. An entry that only waited for a
   * core is not deprioritized.
   */
  left(isolate: Enterable, cpuMs: number): void {
    const state = isolate.entryState;
    if (isolate.isOvertime) {
      isolate.conduct.isBurning = cpuMs >= BURN_MS;
      if (cpuMs < TURN_MS) isolate.conduct.slowUntil = 0;
    }
    if (state === 'ahead' || state === 'ahead again') {
      isolate.entryState = 'running';
      isolate.enteredRound = this.#round;
      if (state === 'ahead again') this.request(isolate);
    } else if (state === 'running' || state === 'again') {
      this.#leavePlace(isolate);
      isolate.entryState = 'idle';
      if (state === 'again') this.request(isolate);
    }
    if (this.waiting > 0) this.#schedule();
  }

  /** Called when the isolate was disposed: drops its queued entries. */
  forget(isolate: Enterable): void {
    if (isolate.entryState === 'ready') {
      for (const queue of [this.#ready, this.#lasting, this.#burning]) queue.remove(isolate);
    } else if (isolate.entryState !== 'idle') this.#leavePlace(isolate);
    isolate.entryState = 'idle';
    if (this.waiting > 0) this.#schedule();
  }

  /**
   * Called when a thread still burns CPU for the isolate after its entry was abandoned: the deployment is deprioritized
   * as if the entry were running.
   */
  burns(conduct: Conduct): void {
    conduct.slowUntil = this.#now() + SLOW_MS;
    conduct.isBurning = true;
  }

  #queueOf({ conduct }: Enterable): Waiting {
    if (conduct.slowUntil === 0) return this.#ready;
    if (conduct.slowUntil > this.#now()) return conduct.isBurning ? this.#burning : this.#lasting;
    conduct.slowUntil = 0;
    return this.#ready;
  }

  #leavePlace(isolate: Enterable): void {
    const list = isolate.isOvertime ? this.#overtime : this.#placed;
    const at = list.indexOf(isolate);
    const last = list.pop() as Enterable;
    if (last !== isolate) list[at] = last;
    isolate.isOvertime = false;
    if (isolate.isBurning) this.#burners--;
    isolate.isBurning = false;
  }

  #schedule(): void {
    if (this.#placed.length >= this.#runningMax && this.waiting > 0) this.#watch();
    if (this.#deferred || (this.#placed.length >= this.#runningMax && this.#followers.length === 0)) return;
    this.#deferred = true;
    this.#defer(this.#turn);
  }

  #start(): void {
    while (this.#placed.length < this.#runningMax) {
      const isolate = this.#next();
      if (isolate === null) break;
      isolate.entryState = 'running';
      isolate.enteredRound = this.#round;
      this.#placed.push(isolate);
      isolate.enter();
    }
    if (this.waiting > 0) this.#watch();
  }

  // Each of the two groups gets as many slots as there are cores, independent of the number of deprioritized
  // deployments.
  get #lastingMayStart(): boolean {
    return this.#lasting.length > 0 && this.#overtime.length - this.#burners < this.#runningMax;
  }

  get #burningMayStart(): boolean {
    return this.#burning.length > 0 && this.#burners < this.#runningMax;
  }

  get #asideMayStart(): boolean {
    return this.#lastingMayStart || this.#burningMayStart;
  }

  #next(): Enterable | null {
    const asideMayStart = this.#asideMayStart;
    if (this.#ready.length > 0 && !(asideMayStart && this.#fastInARow >= FAST_IN_A_ROW_MAX)) {
      this.#fastInARow++;
      return this.#ready.shift();
    }
    this.#fastInARow = 0;
    if (!asideMayStart) return null;
    const takesLasting = this.#lastingMayStart && (this.#lastingIsNext || !this.#burningMayStart);
    this.#lastingIsNext = !takesLasting;
    return (takesLasting ? this.#lasting : this.#burning).shift();
  }

  #watch(): void {
    if (this.#watching) return;
    this.#watching = true;
    this.#round++;
    this.#later(this.#onWatch, TURN_MS);
  }

  /** Entries that were running when the watch began lose their slot to waiting isolates. */
  #takePlaces(): void {
    if (this.waiting === 0) return;
    const now = this.#now();
    for (const isolate of this.#overtime) if (now - isolate.overtimeSince >= BURN_MS) this.#countAsBurning(isolate);
    if (this.#placed.length < this.#runningMax || (this.#ready.length === 0 && !this.#asideMayStart)) return;
    for (let at = this.#placed.length - 1; at >= 0 && this.#overtime.length < OVERTIME_MAX; at--) {
      const isolate = this.#placed[at] as Enterable;
      if (isolate.enteredRound === this.#round) continue;
      this.#leavePlace(isolate);
      isolate.isOvertime = true;
      isolate.overtimeSince = now;
      this.#overtime.push(isolate);
      if (isolate.conduct.isBurning) this.#countAsBurning(isolate);
      isolate.conduct.slowUntil = now + SLOW_MS;
    }
  }

  #countAsBurning(isolate: Enterable): void {
    if (isolate.isBurning) return;
    isolate.isBurning = true;
    isolate.conduct.isBurning = true;
    this.#burners++;
  }

  /** An isolate with more work continues, unless others wait for a slot; then it queues behind them. */
  #follow(): void {
    if (this.#ready.length === 0 && !this.#asideMayStart) {
      for (const isolate of this.#followers) {
        if (isolate.entryState !== 'again') continue;
        isolate.entryState = 'ahead';
        isolate.enter();
      }
    }
    this.#followers.length = 0;
  }
}
