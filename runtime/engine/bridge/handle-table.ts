// Host objects that guest code refers to by number, such as crypto keys and compressors: one limited table per isolate.
// Numbers are never reused, so an old number is invalid.
import { PlatformError } from '#core/errors.ts';
import type { CallOwner } from './call-owner.ts';
import type { HostMemory } from './host-memory.ts';

/** Memory of a key, a cipher or a digest, with the objects around it. */
const HANDLE_BYTES = 8 * 1024;

/** Closes the object together with its handle, if it holds resources. */
interface Closable {
  close?(): void;
}

interface Entry {
  readonly value: Closable & object;
  /** Handles that end with the same invocation, or null. */
  readonly siblings: Set<number> | null;
}

export class HandleTable {
  #values = new Map<number, Entry>();
  #next = 1;
  #max: number;
  #memory: HostMemory;
  /** Handles that end with an invocation, by its number. */
  #owned = new Map<number, Set<number>>();

  constructor(max: number, memory: HostMemory) {
    this.#max = max;
    this.#memory = memory;
  }

  /**
   * Adds an object. Each handle has a small memory cost, in addition to memory that the object reserves itself. @param
   * owner the invocation with which the handle ends; without one, it ends with the isolate.
   * @throws {PlatformError} `invalid_argument` when the worker holds too many, `host_memory_exceeded`.
   */
  add(value: object, owner: CallOwner | null = null): number {
    if (this.#values.size >= this.#max)
      throw new PlatformError('invalid_argument', {
        reason: `More than ${this.#max} keys and streams of one worker are open`,
      });
    this.#memory.reserve(HANDLE_BYTES, 'A key, cipher or stream');
    const id = this.#next++;
    const siblings = owner === null || owner.id === 0 ? null : this.#of(owner);
    this.#values.set(id, { value, siblings });
    siblings?.add(id);
    return id;
  }

  /** The handles that end with an invocation, created with the first handle. */
  #of(owner: CallOwner): Set<number> {
    let owned = this.#owned.get(owner.id);
    if (owned === undefined) {
      const { id } = owner;
      const all = (owned = new Set<number>());
      this.#owned.set(id, all);
      owner.atExit(() => {
        this.#owned.delete(id);
        for (const handle of all) this.delete(handle);
      });
    }
    return owned;
  }

  get(id: unknown): object | undefined {
    return typeof id === 'number' ? this.#values.get(id)?.value : undefined;
  }

  delete(id: unknown): void {
    if (typeof id !== 'number') return;
    const entry = this.#values.get(id);
    if (entry === undefined) return;
    this.#values.delete(id);
    entry.siblings?.delete(id);
    this.#memory.release(HANDLE_BYTES);
    entry.value.close?.();
  }

  closeAll(): void {
    for (const id of this.#values.keys()) this.delete(id);
  }
}
