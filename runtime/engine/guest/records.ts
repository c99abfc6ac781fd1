// What the guest has to tell the host, collected until the entry ends. Every part of the guest writes here;
// entry-end.ts sends and empties it.
import { BYTES, FIELD, RecordWriter, RECORD, type Part } from '../bridge/protocol.ts';
import { safeArray } from './safe.ts';
import { byteLengthOf, giveBack, isWhole, isWorthGivingBack } from './give-back.ts';

const Bytes = Uint8Array;
const { apply } = Reflect;
const { indexOf } = String.prototype;
const RecordError = TypeError;

class GuestRecords extends RecordWriter {
  // A plain array would tell a setter of Array.prototype of each part.
  override bytes = safeArray<Uint8Array>() as unknown as Uint8Array[];
  /** Whose memory goes when the entry has ended. */
  #freed: Uint8Array[] | null = null;

  /** Views cross with all of the memory behind them, so those of a part of it are copied first. */
  override part(part: Part | null): string {
    if (part === null || typeof part === 'string') return super.part(part);
    if (isWhole(part)) return this.#bytes(part);
    const copy = new Bytes(part);
    this.freeAfterEntry(copy);
    return this.#bytes(copy);
  }

  #bytes(part: Uint8Array): string {
    this.bytes[this.bytes.length] = part;
    this.size += byteLengthOf(part);
    return BYTES;
  }

  /** Says of a part that neither we nor the worker read it any more: its memory goes when the entry has ended. */
  freeAfterEntry(part: Uint8Array): void {
    if (!isWorthGivingBack(part)) return;
    const freed = (this.#freed ??= safeArray<Uint8Array>() as unknown as Uint8Array[]);
    freed[freed.length] = part;
  }

  /** The entry has ended. Nothing of it can be a tenant's. */
  release(): void {
    const freed = this.#freed;
    if (freed === null) return;
    this.#freed = null;
    for (let at = 0; at < freed.length; at++) giveBack(freed[at]!);
  }
}

export const records = new GuestRecords();

/**
 * Sends a record. Only numbers and texts without a control character of the bridge are fields: what a patched built-in
 * gave in place of one could hold records of its own.
 *
 * @throws {TypeError} for any other.
 */
export function send(letter: string, ...fields: readonly (string | number)[]): void {
  // Not handed on by a spread, which would ask an iterator that may be a tenant's.
  let record = letter + FIELD;
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at];
    if (typeof field !== 'number' && (typeof field !== 'string' || has(field, FIELD) || has(field, RECORD)))
      throw new RecordError('A field of a record is neither a number nor a text that may be one');
    record += field + FIELD;
  }
  records.meta += record + RECORD;
}

function has(text: string, character: string): boolean {
  return (apply(indexOf, text, [character]) as number) >= 0;
}
