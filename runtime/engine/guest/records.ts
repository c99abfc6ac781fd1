// Records for the host, collected until the entry ends. All parts of the guest write here; entry-end.ts sends and
// clears it.
import { BYTES, FIELD, RecordWriter, RECORD, type Part } from '../bridge/protocol.ts';
import { safeArray } from './safe.ts';
import { byteLengthOf, freeBuffer, isWhole, isWorthFreeing } from './free-buffers.ts';

const Bytes = Uint8Array;
const { apply } = Reflect;
const { indexOf } = String.prototype;
const RecordError = TypeError;

class GuestRecords extends RecordWriter {
  // This is not a plain array, which would expose each part to a setter on Array.prototype.
  override bytes = safeArray<Uint8Array>() as unknown as Uint8Array[];
  /** Buffers to free at the end of the entry. */
  #freed: Uint8Array[] | null = null;

  /** A view crosses the bridge with its whole buffer, so views of a part of a buffer are copied first. */
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

  /**
   * Marks a part that neither the platform nor the worker reads any more, so that it is freed at the end of the entry.
   */
  freeAfterEntry(part: Uint8Array): void {
    if (!isWorthFreeing(part)) return;
    const freed = (this.#freed ??= safeArray<Uint8Array>() as unknown as Uint8Array[]);
    freed[freed.length] = part;
  }

  /** Called when the entry has ended. Tenants have no access to these objects. */
  release(): void {
    const freed = this.#freed;
    if (freed === null) return;
    this.#freed = null;
    for (let at = 0; at < freed.length; at++) freeBuffer(freed[at]!);
  }
}

export const records = new GuestRecords();

/** Sends a part, and frees it at the end of the entry, because it is no longer read. */
export function freeAfterEntry(part: Uint8Array): void {
  records.freeAfterEntry(part);
}

/**
 * Sends a record. Only numbers, and texts without a control character of the bridge, are valid fields, because a text
 * from a patched built-in could contain forged records.
 *
 * @throws {TypeError} for any other field.
 */
export function send(letter: string, ...fields: readonly (string | number)[]): void {
  // The list is not spread, because that would call an iterator that a tenant may have replaced.
  let record = letter + FIELD;
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at];
    if (typeof field !== 'number' && (typeof field !== 'string' || has(field, FIELD) || has(field, RECORD)))
      throw new RecordError('A field of a record is neither a number nor a valid text');
    record += field + FIELD;
  }
  records.meta += record + RECORD;
}

function has(text: string, character: string): boolean {
  return (apply(indexOf, text, [character]) as number) >= 0;
}
