// Threads that still run the code of abandoned isolates, because V8 cannot end them. Such a thread gets the lowest
// priority, its CPU is charged as it is used, and if necessary, the engine is replaced to end it. Created by engine.ts;
// isolate.ts adds threads, process/supervised.ts reads them.
import { constants, getPriority, setPriority } from 'node:os';
import { shownWords } from './stuck-entry.ts';

/**
 * Why a thread is lost: `heap`, the heap overflowed inside V8, and the thread sleeps forever; `endless`, nothing can
 * end its code.
 */
export type LossReason = 'heap' | 'endless';

/** The thread of an abandoned isolate. */
interface GivenUpThread {
  /** `<project>/<deployment id>`. */
  readonly owner: string;
  /** Organization of the deployment; null without a control plane. */
  readonly organization: string | null;
  /** `shownWords` of its entry. */
  readonly shown: Int32Array;
  /** The already charged CPU of the entry. */
  readonly chargedMs: number;
  /** Reports further CPU. */
  readonly onBurnt: (cpuMs: number) => void;
}

/** What the supervisor learns about a lost thread. */
interface LostThread extends Pick<GivenUpThread, 'owner' | 'organization'> {
  readonly reason: LossReason;
}

/** The reason why an engine must be replaced. */
interface Replacement {
  readonly reason: string;
  /** The deployment that is the largest cause, and its CPU. */
  readonly blamed: Pick<GivenUpThread, 'owner' | 'organization'> & { readonly burntMs: number };
}

/** System calls for priorities. */
interface Priorities {
  get(thread: number): number;
  /** @throws {Error} if the change is not permitted, or the thread does not exist. */
  set(thread: number, priority: number): void;
}

interface Watched extends GivenUpThread {
  chargedMs: number;
  burntMs: number;
  reason: LossReason | null;
  /** The thread's priority before it was lowered; null if unchanged. */
  priority: { readonly thread: number; readonly before: number } | null;
  /** Number of checks since its entry ended. */
  looksAfter: number;
}

/** Losses of one deployment. */
interface Loss extends Pick<GivenUpThread, 'owner' | 'organization'> {
  threads: number;
  burntMs: number;
}

const LOOK_MS = 100;
/** A thread that was told to end is lost when it has used this much more CPU. */
const ENDING_MS_MAX = 5000;
/** An engine with this many lost threads is replaced, because each of them keeps its memory. */
const THREADS_MAX = 8;
/** A thread whose entry has ended is watched for this many checks, because it may end soon. */
const LOOKS_AFTER_MAX = 10;

const systemPriorities: Priorities = { get: getPriority, set: setPriority };

/** The lost threads of one engine. */
export class LostThreads {
  #cpuMsMax: number;
  #priorities: Priorities;
  #watched = new Set<Watched>();
  /** The losses of all deployments, including threads that have ended. */
  #losses = new Map<string, Loss>();
  #untold: LostThread[] = [];
  /** Deployments whose thread serves again, at the lowest priority. */
  #slowed: Loss | null = null;
  #timer: NodeJS.Timeout | null = null;

  /** @param cpuMsMax CPU that lost threads may use before the engine is replaced. */
  constructor(cpuMsMax: number, priorities = systemPriorities) {
    this.#cpuMsMax = cpuMsMax;
    this.#priorities = priorities;
  }

  /** Number of threads that are currently lost. */
  get count(): number {
    let count = 0;
    for (const { reason } of this.#watched) if (reason !== null) count++;
    return count;
  }

  /** While a lost thread exists, the process cannot exit normally. */
  get isEmpty(): boolean {
    return this.#watched.size === 0;
  }

  /** The CPU that lost threads have used since they were abandoned. */
  get burntMs(): number {
    let sum = 0;
    for (const { burntMs } of this.#losses.values()) sum += burntMs;
    return sum;
  }

  /** @param reason why the thread is lost; null if it was told to end, and is only lost if it does not. */
  watch(given: GivenUpThread, reason: LossReason | null): void {
    const watched: Watched = { ...given, burntMs: 0, reason: null, priority: null, looksAfter: 0 };
    this.#watched.add(watched);
    if (reason !== null) this.#lose(watched, reason);
    this.#timer ??= setInterval(() => this.look(), LOOK_MS).unref();
  }

  /** The threads that were lost since the last call. */
  takeLost(): LostThread[] {
    return this.#untold.splice(0);
  }

  /** Checks all lost threads. */
  look(): void {
    for (const watched of this.#watched) this.#look(watched);
    if (this.#watched.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  /** The reason why the engine must be replaced; null if there is none. */
  get replacement(): Replacement | null {
    const { burntMs, count } = this;
    const seconds = (burntMs / 1000).toFixed(1);
    if (burntMs >= this.#cpuMsMax)
      return this.#blame(`code that could not be ended burned ${seconds} s of CPU in threads that are lost`);
    if (count >= THREADS_MAX) return this.#blame(`${count} threads are lost, which burned ${seconds} s of CPU`);
    if (this.#slowed === null) return null;
    return { reason: 'a lost thread returned, and runs at the lowest priority', blamed: this.#slowed };
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(watched: Watched): void {
    // The heap may overflow after the isolate was abandoned.
    if (watched.reason === null && Atomics.load(watched.shown, shownWords.overflowed) !== 0)
      this.#lose(watched, 'heap');
    const thread = Atomics.load(watched.shown, shownWords.thread);
    const usedMs = Atomics.load(watched.shown, shownWords.usedMs);
    // The value is lower than before, because another entry runs, which was queued behind the abandoned one.
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
    // A sleeping thread needs no lower priority, and the system has no number for those below 0.
    if (reason === 'heap' || thread <= 0) return;
    try {
      const before = this.#priorities.get(thread);
      this.#priorities.set(thread, constants.priority.PRIORITY_LOW);
      watched.priority = { thread, before };
    } catch {
      // This fails if the thread has ended, or the system does not permit the change.
    }
  }

  /** The thread works normally again, or is about to end. */
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

  /** Blames the organization that used the most CPU, and of its deployments the one that used the most. */
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
