// The ledger of what an engine holds outside of isolates for the workers in them: compressors, streams, sockets, calls
// under way. Whoever makes such a thing reserves its bytes first and gives them back when it is gone. One account a
// deployment. Pure.
import { PlatformError } from '#core/errors.ts';

/** Bounds of the ledger. */
interface HostMemoryLimits {
  readonly hostMemoryMb: number;
  readonly engineHostMemoryMb: number;
}

/**
 * A project that holds less does not count among those that share a full engine: else many that hold a byte would leave
 * nobody a share.
 */
const HOLDER_BYTES = 1024 * 1024;
/** Room above the engine's bound for those that hold less than their share when it is reached. */
const ROOM_FOR_SHARES = 0.25;

/** What all deployments of a project hold together. */
interface Project {
  bytes: number;
  accounts: number;
}

/** All accounts of an engine. */
export class EngineMemory {
  bytes = 0;
  /** Reservations that were refused. */
  refused = 0;
  /** Projects that hold much. */
  holders = 0;
  readonly bytesMax: number;
  /** Nobody gets more where so much is held. */
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

  /** An account's bytes have changed. */
  count(project: Project, bytes: number): void {
    const before = project.bytes >= HOLDER_BYTES;
    project.bytes += bytes;
    this.bytes += bytes;
    this.holders += Number(project.bytes >= HOLDER_BYTES) - Number(before);
  }

  /** What a project may hold where the engine is full. */
  shareOf(project: Project): number {
    return Math.floor(this.bytesMax / Math.max(1, this.holders + Number(project.bytes < HOLDER_BYTES)));
  }

  /** Its deployment is gone. What it still holds counts until it is given back. */
  close(account: HostMemory): void {
    if (!this.#accounts.delete(account)) return;
    const { name, project } = account;
    // What is opened under its name again shares with nobody what is still to be given back.
    if (--project.accounts === 0) this.#projects.delete(name.slice(0, name.indexOf('/') >>> 0));
  }

  /** Those that hold most, most first. */
  heaviest(count: number): { readonly name: string; readonly bytes: number }[] {
    return [...this.#accounts]
      .filter(({ bytes }) => bytes > 0)
      .sort((a, b) => b.bytes - a.bytes)
      .slice(0, count)
      .map(({ name, bytes }) => ({ name, bytes }));
  }
}

/** What is held for one deployment. */
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

  /** An account of a part of it: what it holds counts in both. @param share of what the whole may hold. */
  part(share: number): HostMemory {
    return new HostMemory(this.name, this.#engine, this.project, this, share);
  }

  /** The account of the deployment: whose turns its work takes. */
  get whole(): HostMemory {
    return this.#whole ?? this;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** What it may hold: its bound, or what its project's share leaves where the engine is full. */
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

  /** @param what is made, as an error begins with it. @throws {PlatformError} `host_memory_exceeded`. */
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

  /** Counts what is there already; below 0 what is there no more. */
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

  /** For what changes by itself. */
  count(): HeldBytes {
    return new HeldBytes(this);
  }

  /** Reserves for something that lasts. @throws {PlatformError} `host_memory_exceeded`. */
  hold(bytes: number, what: string): Hold {
    const hold = new Hold(this, what);
    hold.grow(bytes);
    return hold;
  }
}

/** What one thing that lasts has reserved. */
export class Hold {
  #memory: HostMemory;
  #what: string;
  #bytes = 0;
  #over = false;

  constructor(memory: HostMemory, what: string) {
    this.#memory = memory;
    this.#what = what;
  }

  /** It takes so many bytes by now, or more already. @throws {PlatformError} `host_memory_exceeded`. */
  grow(bytes: number): void {
    if (this.#over || bytes <= this.#bytes) return;
    this.#memory.reserve(bytes - this.#bytes, this.#what);
    this.#bytes = bytes;
  }

  /** It is gone. Again changes nothing. */
  release(): void {
    if (this.#over) return;
    this.#over = true;
    this.#memory.release(this.#bytes);
  }
}

/** A count that changes by itself, such as what the peers of sockets have not taken. */
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
