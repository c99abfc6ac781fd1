// Decides when each database is stored: shortly after a change, one call at a time per database, and a few databases in
// parallel. Retries when the storage fails, and closes idle files. Called by replicator.ts.
import type { DatabaseStream } from './stream.ts';

interface ScheduleDeps {
  readonly intervalMs: number;
  /** Files that are held open. */
  readonly openMax: number;
  mayShip(name: string): boolean;
  /** Whether another service stores the database, so that no work is left for this one. */
  isElsewhere(name: string): boolean;
  streamOf(name: string): DatabaseStream;
  report(message: string): void;
}

interface Entry {
  readonly name: string;
  readonly stream: DatabaseStream;
  /** When the oldest change that is not stored was noticed; 0 if all are stored. */
  dirtySince: number;
  usedAt: number;
  failures: number;
  timer: NodeJS.Timeout | null;
  /** Its latest call. */
  running: Promise<boolean>;
  isRunning: boolean;
}

const AT_ONCE = 8;
const RETRY_MS_MAX = 15_000;
const REST_AFTER_MS = 10_000;
const LOOK_MS = 2000;
const [BUSY, NO_HOME] = ['another transaction writes', 'this home does not store'];
const FINISH_MS_MAX = 4000;

export class Schedule {
  readonly #deps: ScheduleDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #queue: (() => void)[] = [];
  #active = 0;
  #timer: NodeJS.Timeout | null;
  #problem: string | null = null;
  #isFinishing = false;

  constructor(deps: ScheduleDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.#rest(), LOOK_MS);
  }

  get problem(): string | null {
    return this.#problem;
  }

  state(): { lagMs: number; waiting: number } {
    const dirty = [...this.#entries.values()].filter(({ dirtySince }) => dirtySince > 0);
    const oldest = Math.min(...dirty.map(({ dirtySince }) => dirtySince));
    return { lagMs: dirty.length === 0 ? 0 : Date.now() - oldest, waiting: dirty.length };
  }

  /** A database has changed, or may have. */
  changed(name: string): void {
    const entry = this.#entryOf(name);
    if (entry.dirtySince === 0) entry.dirtySince = Date.now();
    this.#plan(entry, this.#deps.intervalMs);
  }

  #entryOf(name: string): Entry {
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    const entry: Entry = {
      name,
      stream: this.#deps.streamOf(name),
      dirtySince: 0,
      usedAt: Date.now(),
      failures: 0,
      timer: null,
      running: Promise.resolve(true),
      isRunning: false,
    };
    this.#entries.set(name, entry);
    return entry;
  }

  #plan(entry: Entry, delayMs: number): void {
    if (entry.timer !== null || this.#isFinishing) return;
    entry.timer = setTimeout(() => {
      entry.timer = null;
      if (entry.isRunning) this.#plan(entry, delayMs);
      else void this.#run(entry);
    }, delayMs);
  }

  /** Retries failed databases now. */
  wake(): void {
    for (const entry of this.#entries.values()) {
      if (entry.failures === 0) continue;
      if (entry.timer !== null) clearTimeout(entry.timer);
      entry.timer = null;
      this.#plan(entry, 0);
    }
  }

  /** Stores a database now, after its current call. */
  async settle(name: string): Promise<void> {
    const entry = this.#entryOf(name);
    await entry.running;
    entry.dirtySince ||= Date.now();
    if (!(await this.#run(entry))) throw new Error(this.#problem ?? 'the database could not be read now: try again');
  }

  #run(entry: Entry): Promise<boolean> {
    const run = entry.running.then(() => this.#ship(entry));
    entry.running = run;
    return run;
  }

  /** @returns whether all earlier changes are stored. */
  async #ship(entry: Entry): Promise<boolean> {
    if (entry.dirtySince === 0) return true;
    await this.#turn();
    entry.isRunning = true;
    const since = entry.dirtySince;
    entry.dirtySince = Date.now();
    entry.usedAt = Date.now();
    const begunAt = entry.dirtySince;
    try {
      if (this.#deps.isElsewhere(entry.name)) {
        entry.stream.close();
        this.#entries.delete(entry.name);
        return true;
      }
      if (!this.#deps.mayShip(entry.name)) {
        // While the database may not be stored, its log is not kept from being overwritten.
        entry.stream.close();
        throw new Error(NO_HOME);
      }
      const isStored = await entry.stream.ship();
      if (!isStored) throw new Error(BUSY);
      // The database changed in the meantime: another call follows.
      entry.dirtySince = entry.timer === null ? 0 : begunAt;
      if (entry.failures > 0 && ![...this.#entries.values()].some((other) => other !== entry && other.failures > 0))
        this.#problem = null;
      entry.failures = 0;
      // If many databases change at the same time, not all of them stay open.
      if (entry.dirtySince === 0 && this.#isCrowded && !(await entry.stream.rest())) this.changed(entry.name);
      return true;
    } catch (error) {
      entry.dirtySince = since;
      this.#failed(entry, error as Error);
      return false;
    } finally {
      entry.isRunning = false;
      this.#active--;
      this.#queue.shift()?.();
    }
  }

  #failed(entry: Entry, error: Error): void {
    entry.failures++;
    if (error.message !== BUSY && error.message !== NO_HOME) {
      if (this.#problem !== error.message) this.#deps.report(`${entry.name} is not replicated: ${error.message}`);
      this.#problem = error.message;
    }
    this.#plan(entry, Math.min(RETRY_MS_MAX, this.#deps.intervalMs * 2 ** Math.min(6, entry.failures)));
  }

  async #turn(): Promise<void> {
    if (this.#active >= AT_ONCE) await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#active++;
  }

  get #isCrowded(): boolean {
    let open = 0;
    for (const { stream } of this.#entries.values()) if (stream.isOpen) open++;
    return open > this.#deps.openMax;
  }

  /** Closes files that have not changed for a while, and more files if too many are open. */
  #rest(): void {
    const open = [...this.#entries.values()].filter(({ stream }) => stream.isOpen);
    const since = Date.now() - REST_AFTER_MS;
    const tooMany = open.length - this.#deps.openMax;
    for (const [index, entry] of open.toSorted((one, other) => one.usedAt - other.usedAt).entries())
      if (entry.dirtySince === 0 && !entry.isRunning && (entry.usedAt < since || index < tooMany)) this.#letRest(entry);
    for (const [name, entry] of this.#entries)
      if (
        !entry.stream.isOpen &&
        !entry.stream.hasSeries &&
        entry.dirtySince === 0 &&
        !entry.isRunning &&
        entry.usedAt < since
      )
        this.#entries.delete(name);
  }

  #letRest(entry: Entry): void {
    entry.isRunning = true;
    entry.running = entry.running
      .then(() => entry.stream.rest())
      .then(
        (rests) => {
          if (!rests) this.changed(entry.name);
          return rests;
        },
        (error: Error) => {
          this.#failed(entry, error);
          return false;
        },
      )
      .finally(() => (entry.isRunning = false));
  }

  /** Stores the changes of some databases and closes their files. */
  async leave(isMeant: (name: string) => boolean): Promise<void> {
    const entries = [...this.#entries.values()].filter(({ name }) => isMeant(name));
    await Promise.all(
      entries.map(async (entry) => {
        if (entry.timer !== null) clearTimeout(entry.timer);
        entry.timer = null;
        await entry.running;
        entry.dirtySince ||= Date.now();
        await this.#run(entry);
        await entry.stream.rest().catch(() => {});
        if (entry.timer !== null) clearTimeout(entry.timer);
        entry.stream.close();
        this.#entries.delete(entry.name);
      }),
    );
  }

  /** Stores as many changes as time allows, and closes the files. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    const over = new Promise((resolve) => setTimeout(resolve, FINISH_MS_MAX));
    const all = [...this.#entries.values()].map(async (entry) => {
      if (entry.timer !== null) clearTimeout(entry.timer);
      entry.timer = null;
      await entry.running;
      await this.#run(entry);
      if (entry.dirtySince === 0) await entry.stream.rest().catch(() => {});
    });
    await Promise.race([Promise.all(all), over]);
    for (const { stream } of this.#entries.values()) stream.close();
  }
}
