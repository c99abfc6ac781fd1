// What goes into an isolate with its next entry, as link.ts collects it: bytes as they may cross. The guest's own: guest/outbox.ts.
import { isWhole } from '#core/give-back.ts';
import { Outbox, type Part } from './protocol.ts';

/** Below it a copy into an isolate is cheaper than handing memory over; what is left of that to the collector makes it run more often. */
const HANDED_BYTES_MIN = 16 * 1024;

/** Records and parts for an isolate. */
export class HostOutbox extends Outbox {
  /** A view crosses with all of the memory behind it, so one of a part of it is copied first. */
  override part(part: Part | null): string {
    return super.part(part === null || typeof part === 'string' || isWhole(part) ? part : new Uint8Array(part));
  }

  /** As `part`, of bytes that nobody needs any more: their memory goes over where that is cheaper than a copy. */
  spentPart(part: Part | null): string {
    if (part instanceof Uint8Array && part.byteLength >= HANDED_BYTES_MIN && isWhole(part)) (this.spent ??= []).push(part);
    return this.part(part);
  }
}
