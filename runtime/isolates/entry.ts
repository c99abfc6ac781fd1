// Which isolate is entered when: the whole policy of joined entries. Everything that one turn of the event loop has for an
// isolate enters it together; an isolate that is running collects until it comes back; at most `runningMax` isolates run at a
// time and those that wait take turns. Pure: it knows no isolate, only things that can be entered.

/** What can be entered. */
export interface Enterable {
  /** Takes all that has been collected into the isolate. Comes back as `EntryScheduler.left`. */
  enter(): void;
  /** Scheduling state, owned by the scheduler. */
  entryState: EntryState;
}

/** `idle`: nothing to do; `ready`: queued; `running`: entered; `again`: entered, and more has been collected meanwhile. */
export type EntryState = 'idle' | 'ready' | 'running' | 'again';

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
  #running = 0;
  #deferred = false;
  #runningMax: number;
  #defer: (callback: () => void) => void;
  #turn = (): void => {
    this.#deferred = false;
    this.#start();
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
    } else if (isolate.entryState === 'idle') {
      isolate.entryState = 'ready';
      this.#ready.push(isolate);
      this.#schedule();
    }
  }

  /** An entry has ended, or its isolate is gone. */
  left(isolate: Enterable): void {
    if (isolate.entryState === 'running' || isolate.entryState === 'again') {
      this.#running--;
      const again = isolate.entryState === 'again';
      isolate.entryState = 'idle';
      if (again) this.request(isolate);
    }
    if (this.waiting > 0) this.#schedule();
  }

  /** The isolate is gone: whatever was queued for it is forgotten. */
  forget(isolate: Enterable): void {
    if (isolate.entryState === 'running' || isolate.entryState === 'again') this.#running--;
    const at = this.#ready.indexOf(isolate, this.#head);
    if (at >= 0) this.#ready.splice(at, 1);
    isolate.entryState = 'idle';
    if (this.waiting > 0) this.#schedule();
  }

  #schedule(): void {
    if (this.#deferred || this.#running >= this.#runningMax) return;
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
}
