// Keeps blank isolates ready, counts live isolates, and evicts the least recently used idle ones when there are too
// many or the engine uses too much memory. An isolate never changes its owner: after a worker is loaded, it belongs to
// one deployment.
import type { Conduct } from './entry.ts';
import { WorkerIsolate, type IsolateDeps } from './isolate.ts';
import { TurnBudget } from './turn-budget.ts';

/** The owner of a live isolate, which can release it when it is idle. */
export interface Tenant {
  /** `performance.now()` of the isolate's last request. */
  readonly lastUsedAt: number;
  /** Whether no work is being served, so that the isolate may be evicted. */
  readonly isIdle: boolean;
  /** How entries of the isolate are scheduled. */
  readonly conduct: Conduct;
  /** Disposes the isolate; the next request starts a new one. */
  evict(): void;
  /** Disposes the isolate, with everything it serves, because the engine uses too much memory. */
  disposeForMemory(): void;
  /**
   * Frees memory; called once after some time without work, and once more after a long time (`isResting`). Never
   * rejects.
   */
  trim(isResting: boolean): Promise<void>;
  /** Number of entries since the isolate was last trimmed, and of invocations that ended in them. */
  readonly uses: number;
  /** Whether the isolate was trimmed after a long idle time, and has not been used since. */
  readonly isResting: boolean;
  /** Size of the isolate's heap and buffers, and of the memory that is held for it outside. */
  heldBytes(): Promise<number>;
}

/** Limits of a pool. */
interface PoolLimits {
  readonly isolatesMax: number;
  readonly engineMemoryMb: number;
  /** Number of blank isolates that are kept ready. */
  readonly blanks: number;
}

const MEMORY_MS = 1000;
/**
 * An isolate that has been idle for this long is trimmed, which takes about 5 ms of CPU. Isolates are trimmed one at a
 * time.
 */
const IDLE_MS = 3000;
/**
 * An isolate with this many uses would lose compiled code that is more valuable than the freed memory, so it is trimmed
 * later.
 */
const USES_HOT = 1000;
/** A long time. */
const IDLE_LONG_MS = 60_000;
/** For this time after a start, no isolate is trimmed, because further starts may follow, which need the CPU more. */
const STARTS_MS = 1000;
/** Smaller isolates are not evicted, because they are not the reason why an engine uses too much memory. */
const HEAVY_BYTES = 16 * 1024 * 1024;

/** Reading resident memory takes 0.1 to 0.4 ms, so starts within a short time share one reading. */
const RSS_MS = 50;

/** The isolates of one engine. */
export class Pool {
  /** Main-thread budget for reading the code of starting workers. */
  readonly loads = new TurnBudget();
  #deps: IsolateDeps;
  #limits: PoolLimits;
  #blanks: WorkerIsolate[] = [];
  #tenants = new Set<Tenant>();
  #refilling = false;
  #closed = false;
  #memoryCheck: NodeJS.Timeout;
  #isChecking = false;
  #isTrimming = false;
  /** When an isolate was last taken. */
  #tookAt = Number.NEGATIVE_INFINITY;
  #readRss: () => number;
  #rssBytes = 0;
  #rssAt = Number.NEGATIVE_INFINITY;

  constructor(deps: IsolateDeps, limits: PoolLimits, rss: () => number = () => process.memoryUsage.rss()) {
    this.#readRss = rss;
    this.#deps = deps;
    this.#limits = limits;
    this.#memoryCheck = setInterval(() => {
      void this.checkMemory();
      void this.trimIdle();
    }, MEMORY_MS).unref();
    this.#refill();
  }

  /** The tenants that have a live isolate. */
  get live(): number {
    return this.#tenants.size;
  }

  /** Isolates that wait for a worker. */
  get blank(): number {
    return this.#blanks.length;
  }

  /** Takes a blank isolate for a tenant. */
  take(tenant: Tenant): WorkerIsolate {
    this.#makeRoom();
    this.#tenants.add(tenant);
    this.#tookAt = performance.now();
    this.#deps.counters.isolatesStarted++;
    // The oldest isolate is taken, because it is created before the others.
    const isolate = this.#blanks.shift() ?? new WorkerIsolate(this.#deps);
    isolate.conduct = tenant.conduct;
    this.#refill();
    return isolate;
  }

  /** Called when the tenant no longer has a live isolate. */
  release(tenant: Tenant): void {
    this.#tenants.delete(tenant);
  }

  #rss(ageMsMax = RSS_MS): number {
    const now = performance.now();
    if (now - this.#rssAt < ageMsMax) return this.#rssBytes;
    this.#rssAt = now;
    return (this.#rssBytes = this.#readRss());
  }

  // Isolates are created one after the other on a separate thread, beginning with those that are needed now.
  #refill(): void {
    if (this.#refilling || this.#closed || this.#blanks.length >= this.#limits.blanks) return;
    this.#refilling = true;
    setTimeout(() => {
      this.#refilling = false;
      if (this.#closed || this.#blanks.length >= this.#limits.blanks) return;
      const isolate = new WorkerIsolate(this.#deps);
      this.#blanks.push(isolate);
      void isolate.ready.then(() => {
        if (isolate.isGone) this.#blanks = this.#blanks.filter((blank) => blank !== isolate);
        else this.#refill();
      });
    }, 5).unref();
  }

  #makeRoom(): void {
    const { isolatesMax, engineMemoryMb } = this.#limits;
    const tooLarge = this.#rss() > engineMemoryMb * 1024 * 1024;
    let tooMany = this.#tenants.size - isolatesMax + 1;
    if (tooLarge) tooMany = Math.max(tooMany, Math.ceil(this.#tenants.size / 10));
    if (tooMany <= 0) return;
    const idle = [...this.#tenants].filter((tenant) => tenant.isIdle).toSorted((a, b) => a.lastUsedAt - b.lastUsedAt);
    // Evicts a few more than necessary, so that a pool at its limit does not sort the isolates at every start.
    for (const tenant of idle.slice(0, tooMany + Math.floor(isolatesMax / 50))) {
      this.#deps.counters.isolatesEvicted++;
      tenant.evict();
    }
    this.#rssAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * Above the engine's limit, evicts idle isolates, a tenth at a time. If no isolate is idle, it evicts the largest
   * one.
   */
  async checkMemory(): Promise<void> {
    if (this.#isChecking || this.#rss(0) <= this.#limits.engineMemoryMb * 1024 * 1024) return;
    const before = this.#tenants.size;
    this.#makeRoom();
    if (this.#tenants.size < before) return;
    let heaviest: Tenant | null = null;
    let most = 0;
    this.#isChecking = true;
    const sizes = await Promise.all(
      [...this.#tenants].map(async (tenant) => ({ tenant, bytes: await soon(tenant.heldBytes()) })),
    );
    this.#isChecking = false;
    for (const { tenant, bytes } of sizes) {
      if (bytes <= most) continue;
      heaviest = tenant;
      most = bytes;
    }
    if (!this.#closed && most >= HEAVY_BYTES) heaviest?.disposeForMemory();
  }

  /** Trims idle isolates one after the other, while no isolate waits for a slot. */
  async trimIdle(now = performance.now()): Promise<void> {
    if (this.#isTrimming) return;
    this.#isTrimming = true;
    for (const tenant of this.#tenants) {
      if (this.#closed || this.#deps.scheduler.waiting > 0) break;
      const isLeftAlone = tenant.uses >= USES_HOT || now - this.#tookAt < STARTS_MS;
      const idleMs = now - tenant.lastUsedAt;
      const isLong = idleMs >= IDLE_LONG_MS;
      const isDone = isLong ? tenant.isResting : tenant.uses === 0 || isLeftAlone || idleMs < IDLE_MS;
      if (!isDone && tenant.isIdle) await tenant.trim(isLong);
    }
    this.#isTrimming = false;
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#memoryCheck);
    for (const blank of this.#blanks) blank.dispose();
    this.#blanks = [];
  }
}

/** An isolate replies only between two entries, so busy isolates are skipped. */
function soon(bytes: Promise<number>): Promise<number> {
  return Promise.race([bytes, new Promise<number>((resolve) => setTimeout(resolve, 200, 0).unref())]);
}
