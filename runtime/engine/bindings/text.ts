// The host half of TextDecoder: encodings whose tables the guest does not have, through Node's decoder. Short texts are
// decoded synchronously while the guest's thread waits. Longer texts and streams are decoded on a separate thread
// (work/text-operations.ts).
import type { HostFunction, SyncHostFunction } from '../bridge/host-calls.ts';
import type { CallOwner } from '../bridge/call-owner.ts';
import type { HostWork } from '../work/host-work.ts';
import { createTextDecoder } from '../work/text-operations.ts';

/** Texts up to this size are decoded synchronously, in 20 to 50 us. The guest has the same limit. */
const SHORT_BYTES_MAX = 4096;
/** Maximum size of one piece; the guest splits its input. */
const PIECE_BYTES_MAX = 256 * 1024;
const BYTES_PER_MS = 250_000;

/** A decoder whose state is on its thread, under a number that is never reused. */
class OpenDecoder {
  readonly id: number;
  /** Whether the thread has the decoder, or will create it. */
  begun = false;
  /** Whether the text is complete. */
  isOver = false;
  #forget: (id: number) => void;

  constructor(id: number, forget: (id: number) => void) {
    this.id = id;
    this.#forget = forget;
  }

  close(): void {
    if (!this.isOver) this.#forget(this.id);
  }
}

function bytesOf(part: unknown, most: number): Uint8Array {
  if (!(part instanceof Uint8Array)) throw new TypeError('There are no bytes to decode');
  if (part.byteLength > most) throw new TypeError(`At most ${most} bytes are decoded at once`);
  return part;
}

/** Synchronous calls `text.*`. */
export const textCalls: Readonly<Record<string, SyncHostFunction>> = {
  'text.decode': (args, part) => createTextDecoder(args).decode(bytesOf(part, SHORT_BYTES_MAX)),
};

/** Discarding a decoder is not charged. */
const unpaid: Pick<CallOwner, 'reserveCpu' | 'settleCpu' | 'isOver'> = {
  isOver: false,
  reserveCpu() {},
  settleCpu() {},
};

/** The calls `text.*` that run on a separate thread. */
export function createTextCalls(work: HostWork): Readonly<Record<string, HostFunction>> {
  let lastId = 0;
  return {
    'text.convert': async (call) => {
      const { args, parts, isolate } = call;
      const { handle, label, fatal, last } = (args ?? {}) as Readonly<Record<string, unknown>>;
      const { handles, memory } = isolate;
      const bytes = bytesOf(parts[0], PIECE_BYTES_MAX);
      let number = handle as number;
      if (handle === 0 && last !== true) {
        // Pieces are decoded in call order, after pending calls of the decoder.
        const forget = (id: number): void =>
          void work
            .onKeepingThread({ owner: unpaid, isolate: { memory } }, 'text.close', { id }, [], 0)
            .catch(() => {});
        number = handles.add(new OpenDecoder(++lastId, forget));
      }
      const open = number === 0 ? null : handles.get(number);
      if (open !== null && !(open instanceof OpenDecoder)) throw new TypeError('The decoder is not open');
      try {
        const asked = { id: open?.id ?? 0, isNew: open?.begun !== true, label, fatal, isLast: last === true };
        if (open !== null) open.begun = true;
        const { parts: decoded = [] } = await work.onKeepingThread(
          call,
          'text.decode',
          asked,
          [bytes],
          bytes.byteLength / BYTES_PER_MS,
        );
        if (last === true) {
          if (open !== null) open.isOver = true;
          handles.delete(number);
        }
        return { value: { handle: number }, parts: decoded, transfer: true };
      } catch (error) {
        handles.delete(number);
        throw error;
      }
    },
  };
}
