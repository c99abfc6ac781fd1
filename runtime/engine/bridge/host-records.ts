// Input of an isolate's next entry, as collected by link.ts: bytes in transferable form. The guest's counterpart:
// guest/records.ts.
import { isWhole } from '#core/free-buffers.ts';
import type { HostMemory } from './host-memory.ts';
import { RecordWriter, type Part } from './protocol.ts';

/**
 * Below this size, copying into an isolate is cheaper than transferring memory, which also makes the garbage collector
 * run more often.
 */
const HANDED_BYTES_MIN = 16 * 1024;

/** Records and parts for an isolate. */
export class HostRecords extends RecordWriter {
  /** The arrays of `bytes`, in order, that the host no longer needs: their memory is transferred instead of copied. */
  transferred: Uint8Array[] | null = null;
  /** The part of `size` that the memory ledger counts. */
  #memory: HostMemory;

  constructor(memory: HostMemory) {
    super();
    this.#memory = memory;
  }

  /** A view crosses with its whole buffer, so a view of a part of a buffer is copied first. */
  override part(part: Part | null): string {
    if (part === null) return super.part(null);
    this.addSize(part.length);
    this.size -= part.length;
    return super.part(typeof part === 'string' || isWhole(part) ? part : new Uint8Array(part));
  }

  /** Counts the size of the records themselves. */
  addSize(bytes: number): void {
    this.size += bytes;
    this.#memory.add(bytes);
  }

  /** Called when everything has entered the isolate, or is discarded. */
  taken(): void {
    this.#memory.release(this.size);
    this.size = 0;
  }

  /**
   * Like `part`, for bytes that the host no longer needs: their memory is transferred if that is cheaper than a copy.
   */
  transferredPart(part: Part | null): string {
    if (part instanceof Uint8Array && part.byteLength >= HANDED_BYTES_MIN && isWhole(part))
      (this.transferred ??= []).push(part);
    return this.part(part);
  }
}
