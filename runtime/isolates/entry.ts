// Which isolate is entered when: the whole policy of joined entries. Everything that one turn of the event loop has for an
// isolate enters it together; at most `runningMax` isolates run at a time and those that wait take turns. While nobody waits,
// a running isolate gets one more entry queued behind the one it is in, so that its thread goes on without being woken (a
// tenth of a request's CPU at 8 connections). Pure: it knows no isolate, only things that can be entered.

/** What can be entered. */
export interface Enterable {
  /** Takes all that has been collected into the isolate, behind an entry that still runs. Each comes back as `EntryScheduler.left`. */
  enter(): void;
  /** Scheduling state, owned by the scheduler. */
  entryState: EntryState;
}

/**
 * `idle`: nothing to do; `ready`: waits for a place; `running`: entered; `ahead`: entered, with a second entry queued behind;
 * `again` and `ahead again`: more has been collected meanwhile.
 */
export type EntryState = 'idle' | 'ready' | 'running' | 'again' | 'ahead' | 'ahead again';

/**
 * Queues isolates and keeps the number of running entries under a cap.
 *
 * @example
 * const scheduler = new EntryScheduler({ runningMax: 2, defer: setImmediate });
 * scheduler.request(isolate); // and, when its entry has ended: scheduler.left(isolate)
 */
export class EntryScheduler {
  #ready: Enterable[] = [];
  #head = 0;
  /** Running isolates that may get their second entry in this turn. */
  #followers: Enterable[] = [];
  #running = 0;
  #deferred = false;
  #runningMax: number;
  #defer: (callback: () => void) => void;
  #turn = (): void => {
    this.#deferred = false;
    this.#start();
    this.#follow();
  };

  constructor(options: { runningMax: number; defer: (callback: () => void) => void }) {
    this.#runningMax = options.runningMax;
    this.#defer = options.defer;
  }

  /** How many entries run now. */
  get running(): number {
    return this.#running;
  }

  /** How many isolates wait for a turn. */
  get waiting(): number {
    return this.#ready.length - this.#head;
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
      this.#ready.push(isolate);
      this.#schedule();
    }
  }

  /** An entry has ended, or its isolate is gone. */
  left(isolate: Enterable): void {
    const state = isolate.entryState;
    if (state === 'ahead' || state === 'ahead again') {
      isolate.entryState = 'running';
      if (state === 'ahead again') this.request(isolate);
    } else if (state === 'running' || state === 'again') {
      this.#running--;
      isolate.entryState = 'idle';
      if (state === 'again') this.request(isolate);
    }
    if (this.waiting > 0) this.#schedule();
  }

  /** The isolate is gone: whatever was queued for it is forgotten. */
  forget(isolate: Enterable): void {
    if (isolate.entryState !== 'idle' && isolate.entryState !== 'ready') this.#running--;
    const at = this.#ready.indexOf(isolate, this.#head);
    if (at >= 0) this.#ready.splice(at, 1);
    isolate.entryState = 'idle';
    if (this.waiting > 0) this.#schedule();
  }

  #schedule(): void {
    if (this.#deferred || (this.#running >= this.#runningMax && this.#followers.length === 0)) return;
    this.#deferred = true;
    this.#defer(this.#turn);
  }

  #start(): void {
    while (this.#running < this.#runningMax && this.#head < this.#ready.length) {
      const isolate = this.#ready[this.#head] as Enterable;
      this.#head++;
      if (this.#head === this.#ready.length) {
        this.#ready.length = 0;
        this.#head = 0;
      } else if (this.#head > 1024) {
        this.#ready.splice(0, this.#head);
        this.#head = 0;
      }
      isolate.entryState = 'running';
      this.#running++;
      isolate.enter();
    }
  }

  /** An isolate that has more to do goes on, unless others wait for a place: then it takes its turn behind them. */
  #follow(): void {
    if (this.waiting === 0) {
      for (const isolate of this.#followers) {
        if (isolate.entryState !== 'again') continue;
        isolate.entryState = 'ahead';
        isolate.enter();
      }
    }
    this.#followers.length = 0;
  }
}
