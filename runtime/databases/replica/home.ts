// This database service as the home of its databases: gets the number from Postgres under which it stores objects, and
// checks that the bucket's prefix belongs to this installation. The home stops when a newer home has taken a number.
// Called by replicator.ts.
import type { ReplicaFence } from '../../stores/replica-fence-postgres.ts';
import type { ReplicaStorage } from './storage.ts';

interface HomeDeps {
  readonly storage: ReplicaStorage;
  /** Other services take numbers, too, so a higher number does not mean that this service was replaced. */
  readonly isShared: boolean;
  openFence(url: string): ReplicaFence;
  report(message: string): void;
}

const LOOK_MS = 10_000;
const RETRY_MS = 2000;

export class Home {
  readonly #deps: HomeDeps;
  #fence = 0;
  #problem: string | null = 'Postgres has not given this home its number yet';
  #isReplaced = false;
  #opened: ReplicaFence | null = null;
  #url = '';

  constructor(deps: HomeDeps) {
    this.#deps = deps;
  }

  /** 0: not known yet. */
  get fence(): number {
    return this.#fence;
  }

  get mayStore(): boolean {
    return this.#fence > 0 && !this.#isReplaced;
  }

  get problem(): string | null {
    return this.#problem;
  }

  /**
   * Gets a number; retries while Postgres or the storage is unavailable. @throws {Error} if this service is not allowed
   * to store replicas.
   */
  async join(url: string): Promise<void> {
    if (this.#url === url) return;
    this.#url = url;
    await this.#opened?.close().catch(() => {});
    this.#opened = this.#deps.openFence(url);
    for (let attempt = 1; this.#fence === 0; attempt++) {
      try {
        await this.#take(this.#opened);
      } catch (error) {
        if (this.#isReplaced) throw error;
        const reason = (error as Error).message;
        if (attempt === 1) this.#deps.report(`databases are not replicated yet: ${reason}`);
        this.#problem = reason;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
    if (!this.#deps.isShared) setInterval(() => void this.#look(), LOOK_MS).unref();
  }

  async #take(numbers: ReplicaFence): Promise<void> {
    const { storage } = this.#deps;
    const used = (await storage.list('fences/')).map((key) => Number(key.slice('fences/'.length)));
    const { fence, installation } = await numbers.next(Math.max(0, ...used.filter(Number.isSafeInteger)));
    const owner = (await storage.get('installation'))?.toString('utf8').trim();
    if (owner !== undefined && owner !== installation) {
      this.#isReplaced = true;
      this.#problem =
        'the prefix in the bucket has replicas of another installation: set DB_REPLICA_S3_PREFIX to another one';
      throw new Error(this.#problem);
    }
    if (owner === undefined) await storage.put('installation', Buffer.from(`${installation}\n`));
    await storage.put(`fences/${String(fence).padStart(8, '0')}`, Buffer.from(`${new Date().toISOString()}\n`));
    this.#fence = fence;
    this.#problem = null;
  }

  async #look(): Promise<void> {
    try {
      const newest = (await this.#opened?.newest()) ?? 0;
      if (newest <= this.#fence || this.#isReplaced) return;
      this.#isReplaced = true;
      this.#problem = `another database service, number ${newest}, replicates the databases of this installation`;
      this.#deps.report(`replication stopped: ${this.#problem}`);
    } catch {
      // Postgres is unavailable. Later homes have higher numbers, so their objects are not overwritten.
    }
  }
}
