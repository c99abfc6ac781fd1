// Threads that go on with the code of isolates that were given up: V8 has no way to end them. From here on such a
// thread runs behind all others, what it burns is charged while it burns, and the engine knows when it has to be
// replaced to end it. Made by engine.ts; isolate.ts gives it threads, cluster/supervised.ts asks.
import { constants, getPriority, setPriority } from 'node:os';
import { shownWords } from './stuck-entry.ts';

/** `heap`: the heap overflowed inside V8, and the thread sleeps for good with it; `endless`: nothing ends its code. */
export type LossReason = 'heap' | 'endless';

/** The thread of an isolate that was given up. */
export interface GivenUpThread {
  /** `<project>/<deployment id>`. */
  readonly owner: string;
  /** Whose that is; null where no control plane says so. */
  readonly organization: string | null;
  /** `shownWords` of its entry. */
  readonly shown: Int32Array;
  /** CPU of that entry that is charged already. */
  readonly chargedMs: number;
  /** It has used so much more. */
  readonly onBurnt: (cpuMs: number) => void;
}

/** A thread that is lost, for the supervisor. */
export interface LostThread extends Pick<GivenUpThread, 'owner' | 'organization'> {
  readonly reason: LossReason;
}

/** Why an engine is to be replaced. */
export interface Replacement {
  readonly reason: string;
  /** Who has most of it, and how much CPU that was. */
  readonly blamed: Pick<GivenUpThread, 'owner' | 'organization'> & { readonly burntMs: number };
}

/** The calls of the system that it makes. */
interface Priorities {
  get(thread: number): number;
  /** @throws {Error} where that is not allowed, or there is no such thread. */
  set(thread: number, priority: number): void;
}

interface Watched extends GivenUpThread {
  chargedMs: number;
  burntMs: number;
  reason: LossReason | null;
  /** Of the thread, before it was put behind the others; null: it was not. */
  priority: { readonly thread: number; readonly before: number } | null;
  /** Looks since its entry ended. */
  looksAfter: number;
}

/** What one deployment has lost. */
interface Loss extends Pick<GivenUpThread, 'owner' | 'organization'> {
  threads: number;
  burntMs: number;
}

const LOOK_MS = 100;
/** A thread that was told to end is lost when it has used so much more. */
const ENDING_MS_MAX = 5000;
/** Threads after which an engine is replaced: each holds what it had. */
const THREADS_MAX = 8;
/** After so many looks a thread that came back is none that was about to end. */
const LOOKS_AFTER_MAX = 10;

const systemPriorities: Priorities = { get: getPriority, set: setPriority };

/** Those of one engine. */
export class LostThreads {
  #cpuMsMax: number;
  #priorities: Priorities;
  #watched = new Set<Watched>();
  /** Of all deployments that have lost one, those that have ended included. */
  #losses = new Map<string, Loss>();
  #untold: LostThread[] = [];
  /** Whose thread serves again, behind all others. */
  #slowed: Loss | null = null;
  #timer: NodeJS.Timeout | null = null;

  /** @param cpuMsMax that lost threads may burn before the engine is to be replaced. */
  constructor(cpuMsMax: number, priorities = systemPriorities) {
    this.#cpuMsMax = cpuMsMax;
    this.#priorities = priorities;
  }

  /** Threads that are lost now. */
  get count(): number {
    let count = 0;
    for (const { reason } of this.#watched) if (reason !== null) count++;
    return count;
  }

  /** The process cannot exit by itself while there are any. */
  get isEmpty(): boolean {
    return this.#watched.size === 0;
  }

  /** What lost threads have burned after they were given up. */
  get burntMs(): number {
    let sum = 0;
    for (const { burntMs } of this.#losses.values()) sum += burntMs;
    return sum;
  }

  /** @param reason why it is lost; null: it was told to end, and is lost when it does not. */
  watch(given: GivenUpThread, reason: LossReason | null): void {
    const watched: Watched = { ...given, burntMs: 0, reason: null, priority: null, looksAfter: 0 };
    this.#watched.add(watched);
    if (reason !== null) this.#lose(watched, reason);
    this.#timer ??= setInterval(() => this.look(), LOOK_MS).unref();
  }

  /** The heap of an isolate that was given up before has overflowed. */
  parked(shown: Int32Array): void {
    for (const watched of this.#watched)
      if (watched.shown === shown && watched.reason === null) this.#lose(watched, 'heap');
  }

  /** Threads lost since it was last asked. */
  takeLost(): LostThread[] {
    return this.#untold.splice(0);
  }

  /** One look at all of them. */
  look(): void {
    for (const watched of this.#watched) this.#look(watched);
    if (this.#watched.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Why the engine is to be replaced; null: it is not. */
  get replacement(): Replacement | null {
    const { burntMs, count } = this;
    const seconds = (burntMs / 1000).toFixed(1);
    if (burntMs >= this.#cpuMsMax)
      return this.#blame(`code that could not be ended burned ${seconds} s of CPU in threads that are lost`);
    if (count >= THREADS_MAX) return this.#blame(`${count} threads are lost, which burned ${seconds} s of CPU`);
    if (this.#slowed === null) return null;
    return { reason: 'a thread that was lost came back, and runs behind all others', blamed: this.#slowed };
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(watched: Watched): void {
    const thread = Atomics.load(watched.shown, shownWords.thread);
    const usedMs = Atomics.load(watched.shown, shownWords.usedMs);
    // Less than before: an entry that was queued behind the one it was given up in.
    const moreMs = usedMs < watched.chargedMs ? usedMs : usedMs - watched.chargedMs;
    watched.chargedMs = usedMs;
    if (moreMs > 0) {
      watched.onBurnt(moreMs);
      watched.burntMs += moreMs;
      if (watched.reason !== null) this.#lossOf(watched).burntMs += moreMs;
      else if (watched.burntMs > ENDING_MS_MAX) this.#lose(watched, 'endless');
    }
    if (thread === 0 && watched.reason !== 'heap') this.#ended(watched);
  }

  #lose(watched: Watched, reason: LossReason): void {
    const { owner, organization } = watched;
    watched.reason = reason;
    const loss = this.#lossOf(watched);
    loss.threads++;
    loss.burntMs += watched.burntMs;
    this.#untold.push({ owner, organization, reason });
    const thread = Atomics.load(watched.shown, shownWords.thread);
    // One that sleeps needs none, and below 0 the system has no number for it.
    if (reason === 'heap' || thread <= 0) return;
    try {
      const before = this.#priorities.get(thread);
      this.#priorities.set(thread, constants.priority.PRIORITY_LOW);
      watched.priority = { thread, before };
    } catch {
      // It has ended meanwhile, or the system does not allow it.
    }
  }

  /** Its thread is one of many again, or about to end. */
  #ended(watched: Watched): void {
    if (watched.priority !== null && !this.#isRestored(watched.priority)) {
      if (++watched.looksAfter < LOOKS_AFTER_MAX) return;
      this.#slowed = this.#lossOf(watched);
    }
    this.#watched.delete(watched);
  }

  #isRestored({ thread, before }: { readonly thread: number; readonly before: number }): boolean {
    try {
      this.#priorities.set(thread, before);
      return true;
    } catch (error) {
      return (error as { info?: { code?: string } }).info?.code === 'ESRCH';
    }
  }

  #lossOf({ owner, organization }: Pick<GivenUpThread, 'owner' | 'organization'>): Loss {
    let loss = this.#losses.get(owner);
    if (loss === undefined) this.#losses.set(owner, (loss = { owner, organization, threads: 0, burntMs: 0 }));
    return loss;
  }

  /** It is the organization that has burned most, and of that the deployment that has. */
  #blame(reason: string): Replacement {
    const organizations = new Map<string, Loss>();
    for (const { owner, organization, threads, burntMs } of this.#losses.values()) {
      const name = organization ?? owner;
      const sum = organizations.get(name) ?? { owner, organization, threads: 0, burntMs: 0 };
      sum.threads += threads;
      sum.burntMs += burntMs;
      organizations.set(name, sum);
    }
    const worst = most(organizations.values());
    const own = [...this.#losses.values()].filter(
      ({ owner, organization }) => (organization ?? owner) === (worst.organization ?? worst.owner),
    );
    return { reason, blamed: most(own) };
  }
}

function most(losses: Iterable<Loss>): Loss {
  return [...losses].toSorted((a, b) => b.burntMs - a.burntMs || b.threads - a.threads)[0]!;
}
