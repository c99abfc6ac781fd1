// What goes into an isolate with its next entry, as link.ts collects it: bytes as they may cross. The guest's own:
// guest/records.ts.
import { isWhole } from '#core/give-back.ts';
import type { HostMemory } from './host-memory.ts';
import { RecordWriter, type Part } from './protocol.ts';

/**
 * Below it a copy into an isolate is cheaper than handing memory over; what is left of that to the collector makes it
 * run more often.
 */
const HANDED_BYTES_MIN = 16 * 1024;

/** Records and parts for an isolate. */
export class HostRecords extends RecordWriter {
  /** Those of `bytes`, in their order, that nobody needs any more: their memory goes over instead of a copy. */
  transferred: Uint8Array[] | null = null;
  /** What of `size` is counted there. */
  #memory: HostMemory;

  constructor(memory: HostMemory) {
    super();
    this.#memory = memory;
  }

  /** A view crosses with all of the memory behind it, so one of a part of it is copied first. */
  override part(part: Part | null): string {
    if (part === null) return super.part(null);
    this.addSize(part.length);
    this.size -= part.length;
    return super.part(typeof part === 'string' || isWhole(part) ? part : new Uint8Array(part));
  }

  /** Counts what lies among the records. */
  addSize(bytes: number): void {
    this.size += bytes;
    this.#memory.add(bytes);
  }

  /** All of it goes into the isolate, or nowhere any more. */
  taken(): void {
    this.#memory.release(this.size);
    this.size = 0;
  }

  /** As `part`, of bytes that nobody needs any more: their memory goes over where that is cheaper than a copy. */
  transferredPart(part: Part | null): string {
    if (part instanceof Uint8Array && part.byteLength >= HANDED_BYTES_MIN && isWhole(part))
      (this.transferred ??= []).push(part);
    return this.part(part);
  }
}
