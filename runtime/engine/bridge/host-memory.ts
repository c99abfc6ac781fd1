// The ledger of memory that an engine holds outside isolates for their workers: compressors, streams, sockets,
// pending calls. Code that creates such an object reserves its bytes first, and releases them when the object is freed.
// One account per deployment. Pure.
import { PlatformError } from '#core/errors.ts';

/** Limits of the ledger. */
interface HostMemoryLimits {
  readonly hostMemoryMb: number;
  readonly engineHostMemoryMb: number;
}

/**
 * A project that holds less than this is not counted when a full engine is shared. Otherwise, many projects with one
 * byte each would reduce all shares to nothing.
 */
const HOLDER_BYTES = 1024 * 1024;
/** Memory above the engine's limit, for projects that are below their share when the limit is reached. */
const ROOM_FOR_SHARES = 0.25;

/** Total of all deployments of a project. */
interface Project {
  bytes: number;
  accounts: number;
}

/** All accounts of an engine. */
export class EngineMemory {
  bytes = 0;
  /** Number of refused reservations. */
  refused = 0;
  /** Number of projects that hold a significant amount. */
  holders = 0;
  readonly bytesMax: number;
  /** Above this total, no memory is reserved for any deployment. */
  readonly ceilingBytes: number;
  readonly accountBytesMax: number;
  #accounts = new Set<HostMemory>();
  #projects = new Map<string, Project>();

  constructor(limits: HostMemoryLimits) {
    this.bytesMax = limits.engineHostMemoryMb * 1024 * 1024;
    this.ceilingBytes = Math.floor(this.bytesMax * (1 + ROOM_FOR_SHARES));
    this.accountBytesMax = limits.hostMemoryMb * 1024 * 1024;
  }

  /** @param name `<project>/<deployment id>`. */
  open(name: string): HostMemory {
    const key = name.slice(0, name.indexOf('/') >>> 0);
    let project = this.#projects.get(key);
    if (project === undefined) this.#projects.set(key, (project = { bytes: 0, accounts: 0 }));
    project.accounts++;
    const account = new HostMemory(name, this, project);
    this.#accounts.add(account);
    return account;
  }

  /** Updates the bytes of an account. */
  count(project: Project, bytes: number): void {
    const before = project.bytes >= HOLDER_BYTES;
    project.bytes += bytes;
    this.bytes += bytes;
    this.holders += Number(project.bytes >= HOLDER_BYTES) - Number(before);
  }

  /** The share of a project when the engine is full. */
  shareOf(project: Project): number {
    return Math.floor(this.bytesMax / Math.max(1, this.holders + Number(project.bytes < HOLDER_BYTES)));
  }

  /** Called when the deployment has ended. Its remaining bytes are counted until they are released. */
  close(account: HostMemory): void {
    if (!this.#accounts.delete(account)) return;
    const { name, project } = account;
    // A new account with this name must not share these remaining bytes.
    if (--project.accounts === 0) this.#projects.delete(name.slice(0, name.indexOf('/') >>> 0));
  }

  /** The largest accounts, largest first. */
  heaviest(count: number): { readonly name: string; readonly bytes: number }[] {
    return [...this.#accounts]
      .filter(({ bytes }) => bytes > 0)
      .sort((a, b) => b.bytes - a.bytes)
      .slice(0, count)
      .map(({ name, bytes }) => ({ name, bytes }));
  }
}

/** Memory held for one deployment. */
export class HostMemory {
  readonly name: string;
  readonly project: Project;
  #engine: EngineMemory;
  #whole: HostMemory | null;
  #share: number;
  #bytes = 0;

  constructor(name: string, engine: EngineMemory, project: Project, whole: HostMemory | null = null, share = 1) {
    this.name = name;
    this.project = project;
    this.#engine = engine;
    this.#whole = whole;
    this.#share = share;
  }

  /** Opens a sub-account, whose bytes are also counted in this account. @param share its share of the limit. */
  part(share: number): HostMemory {
    return new HostMemory(this.name, this.#engine, this.project, this, share);
  }

  /** The account of the deployment, which is also its key for fair scheduling. */
  get whole(): HostMemory {
    return this.#whole ?? this;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The maximum of the deployment: its limit, or the share of its project when the engine is full. */
  #bytesMax(bytes: number): number {
    const { accountBytesMax, bytesMax, ceilingBytes, bytes: held } = this.#engine;
    if (held + bytes <= bytesMax) return accountBytesMax;
    if (held + bytes > ceilingBytes) return Math.min(accountBytesMax, this.#bytes);
    const others = this.project.bytes - this.#bytes;
    return Math.max(0, Math.min(accountBytesMax, this.#engine.shareOf(this.project) - others));
  }

  get #partBytesMax(): number {
    return Math.floor(this.#engine.accountBytesMax * this.#share);
  }

  hasRoom(bytes: number): boolean {
    if (this.#whole !== null) return this.#bytes + bytes <= this.#partBytesMax && this.#whole.hasRoom(bytes);
    return this.#bytes + bytes <= this.#bytesMax(bytes);
  }

  /**
   * @param what the object that is created, as the beginning of the error message. @throws {PlatformError}
   * `host_memory_exceeded`.
   */
  reserve(bytes: number, what: string): void {
    if (this.#whole !== null) {
      if (this.#bytes + bytes > this.#partBytesMax) this.#refuse(bytes, what, this.#partBytesMax);
      this.#whole.reserve(bytes, what);
      this.#bytes += bytes;
      return;
    }
    const limit = this.#bytesMax(bytes);
    if (this.#bytes + bytes > limit) this.#refuse(bytes, what, limit);
    this.add(bytes);
  }

  #refuse(bytes: number, what: string, limit: number): never {
    this.#engine.refused++;
    throw new PlatformError('host_memory_exceeded', { what, bytes, used: this.#bytes, limit });
  }

  /** Adds bytes that already exist; a negative number subtracts released bytes. */
  add(bytes: number): void {
    if (bytes === 0) return;
    if (this.#whole !== null) {
      this.#whole.add(bytes);
      this.#bytes += bytes;
      return;
    }
    this.#bytes += bytes;
    this.#engine.count(this.project, bytes);
  }

  release(bytes: number): void {
    this.add(-bytes);
  }

  /** Creates a count for an amount that changes without reservations. */
  count(): HeldBytes {
    return new HeldBytes(this);
  }

  /** Reserves memory for a long-lived object. @throws {PlatformError} `host_memory_exceeded`. */
  hold(bytes: number, what: string): Hold {
    const hold = new Hold(this, what);
    hold.grow(bytes);
    return hold;
  }
}

/** The reservation of one long-lived object. */
export class Hold {
  #memory: HostMemory;
  #what: string;
  #bytes = 0;
  #over = false;

  constructor(memory: HostMemory, what: string) {
    this.#memory = memory;
    this.#what = what;
  }

  /**
   * Sets the size of the object, or of the part that it already uses. @throws {PlatformError} `host_memory_exceeded`.
   */
  grow(bytes: number): void {
    if (this.#over || bytes <= this.#bytes) return;
    this.#memory.reserve(bytes - this.#bytes, this.#what);
    this.#bytes = bytes;
  }

  /** Releases it. A second call has no effect. */
  release(): void {
    if (this.#over) return;
    this.#over = true;
    this.#memory.release(this.#bytes);
  }
}

/** A count of bytes that changes without reservations, such as bytes that the peers of sockets have not received. */
export class HeldBytes {
  #memory: HostMemory;
  #bytes = 0;

  constructor(memory: HostMemory) {
    this.#memory = memory;
  }

  get bytes(): number {
    return this.#bytes;
  }

  set bytes(bytes: number) {
    this.#memory.add(bytes - this.#bytes);
    this.#bytes = bytes;
  }
}
