// Which isolate is entered when: the whole policy of joined entries. Everything that one turn of the event loop has for an
// isolate enters it together; at most `runningMax` isolates run at a time and those that wait take turns. While nobody waits,
// a running isolate gets one more entry queued behind the one it is in, so that its thread goes on without being woken (a
// tenth of a request's CPU at 8 connections). An entry that lasts while others wait loses its place: the system shares the
// cores from then on, and its deployment stands in the slow queue for a while. Pure: it knows no isolate, only what can be entered.

/** How a deployment has used its turns; the isolates of one deployment share it. */
export interface Conduct {
  /** Until when, by the scheduler's clock, its entries stand in the slow queue; 0 for never. */
  slowUntil: number;
}

/** What can be entered. */
export interface Enterable {
  /** Takes all that has been collected into the isolate, behind an entry that still runs. Each comes back as `EntryScheduler.left`. */
  enter(): void;
  /** Scheduling state, owned by the scheduler. */
  entryState: EntryState;
  /** Its entry has lost its place and runs beside the others; owned by the scheduler. */
  isOvertime: boolean;
  /** Round of the watch in which its entry began; owned by the scheduler. */
  enteredRound: number;
  readonly conduct: Conduct;
}

/**
 * `idle`: nothing to do; `ready`: waits for a place; `running`: entered; `ahead`: entered, with a second entry queued behind;
 * `again` and `ahead again`: more has been collected meanwhile.
 */
export type EntryState = 'idle' | 'ready' | 'running' | 'again' | 'ahead' | 'ahead again';

/** What a scheduler is made of. */
export interface EntryOptions {
  /** Places: entries that run at a time while none of them lasts. */
  readonly runningMax: number;
  readonly defer: (callback: () => void) => void;
  /** A timer; by default one that keeps no process alive. */
  readonly later?: (callback: () => void, ms: number) => void;
  /** Milliseconds of any clock that never goes back. */
  readonly now?: () => number;
}

/** An entry that lasts longer than one to two of these while others wait loses its place. */
const TURN_MS = 8;
/** How long a deployment whose entry lost its place stands in the slow queue. */
const SLOW_MS = 2000;
/** Entries without a place. More would make every thread wait long for a core. */
const OVERTIME_MAX = 32;
/** After so many starts of others, one of the slow queue gets a place although others wait. */
const FAST_IN_A_ROW_MAX = 16;

/** A queue that forgets what it gave out without moving the rest each time. */
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
 * Queues isolates and keeps the number of running entries under a cap.
 *
 * @example
 * const scheduler = new EntryScheduler({ runningMax: 2, defer: setImmediate });
 * scheduler.request(isolate); // and, when its entry has ended: scheduler.left(isolate)
 */
export class EntryScheduler {
  #ready = new Waiting();
  #slow = new Waiting();
  #fastInARow = 0;
  /** Running isolates that may get their second entry in this turn. */
  #followers: Enterable[] = [];
  /** Isolates with a place. */
  #placed: Enterable[] = [];
  #overtime = 0;
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

  /** How many entries run now, those without a place too. */
  get running(): number {
    return this.#placed.length + this.#overtime;
  }

  /** How many isolates wait for a turn. */
  get waiting(): number {
    return this.#ready.length + this.#slow.length;
  }

  /** There is something to take into an isolate. */
  request(isolate: Enterable): void {
    if (isolate.entryState === 'running') {
      isolate.entryState = 'again';
      this.#followers.push(isolate);
      this.#schedule();
    } else if (isolate.entryState === 'ahead') {
      isolate.entryState = 'ahead again';
    } else if (isolate.entryState === 'idle') {
      isolate.entryState = 'ready';
      (this.#isSlow(isolate) ? this.#slow : this.#ready).push(isolate);
      this.#schedule();
    }
  }

  /** An entry has ended, or its isolate is gone. */
  left(isolate: Enterable): void {
    const state = isolate.entryState;
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

  /** The isolate is gone: whatever was queued for it is forgotten. */
  forget(isolate: Enterable): void {
    if (isolate.entryState === 'ready') {
      this.#ready.remove(isolate);
      this.#slow.remove(isolate);
    } else if (isolate.entryState !== 'idle') this.#leavePlace(isolate);
    isolate.entryState = 'idle';
    if (this.waiting > 0) this.#schedule();
  }

  #isSlow({ conduct }: Enterable): boolean {
    if (conduct.slowUntil === 0) return false;
    if (conduct.slowUntil > this.#now()) return true;
    conduct.slowUntil = 0;
    return false;
  }

  #leavePlace(isolate: Enterable): void {
    if (isolate.isOvertime) {
      isolate.isOvertime = false;
      this.#overtime--;
      return;
    }
    const at = this.#placed.indexOf(isolate);
    const last = this.#placed.pop() as Enterable;
    if (last !== isolate) this.#placed[at] = last;
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
    if (this.waiting > 0 && this.#placed.length >= this.#runningMax) this.#watch();
  }

  // The slow queue gets as many cores as there are, whatever number of deployments stand in it.
  get #slowMayStart(): boolean {
    return this.#slow.length > 0 && this.#overtime < this.#runningMax;
  }

  #next(): Enterable | null {
    const slowMayStart = this.#slowMayStart;
    if (this.#ready.length > 0 && !(slowMayStart && this.#fastInARow >= FAST_IN_A_ROW_MAX)) {
      this.#fastInARow++;
      return this.#ready.shift();
    }
    this.#fastInARow = 0;
    return slowMayStart ? this.#slow.shift() : null;
  }

  #watch(): void {
    if (this.#watching) return;
    this.#watching = true;
    this.#round++;
    this.#later(this.#onWatch, TURN_MS);
  }

  /** Entries that ran already when the watch began lose their place to those that wait. */
  #takePlaces(): void {
    if (this.waiting === 0) return;
    for (let at = this.#placed.length - 1; at >= 0 && this.#overtime < OVERTIME_MAX; at--) {
      const isolate = this.#placed[at] as Enterable;
      if (isolate.enteredRound === this.#round) continue;
      this.#leavePlace(isolate);
      isolate.isOvertime = true;
      this.#overtime++;
      isolate.conduct.slowUntil = this.#now() + SLOW_MS;
    }
  }

  /** An isolate that has more to do goes on, unless others wait for a place: then it takes its turn behind them. */
  #follow(): void {
    if (this.#ready.length === 0 && !this.#slowMayStart) {
      for (const isolate of this.#followers) {
        if (isolate.entryState !== 'again') continue;
        isolate.entryState = 'ahead';
        isolate.enter();
      }
    }
    this.#followers.length = 0;
  }
}
