// What the guest has to tell the host, collected until the entry ends. Every part of the guest writes here; dispatch.ts
// sends and empties it.
import { FIELD, Outbox, RECORD, type Part } from '../bridge/protocol.ts';

// As they were before any tenant code: getters, because a view may have properties of its own under their names.
const getter = (prototype: object, name: string): ((self: unknown) => unknown) => {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name) as { get: () => unknown };
  return Function.prototype.call.bind(get) as (self: unknown) => unknown;
};
const bufferOf = getter(Object.getPrototypeOf(Uint8Array.prototype) as object, 'buffer');
const viewLength = getter(Object.getPrototypeOf(Uint8Array.prototype) as object, 'byteLength');
const bufferLength = getter(ArrayBuffer.prototype, 'byteLength');
const isResizable = getter(ArrayBuffer.prototype, 'resizable');
const Bytes = Uint8Array;
const transfer = Function.prototype.call.bind(ArrayBuffer.prototype.transfer) as (buffer: unknown, bytes: number) => void;
/** Below it the garbage collector is cheaper. */
const SPENT_BYTES_MIN = 64 * 1024;

/** Whether a view shows all of a plain ArrayBuffer. @throws {TypeError} when it is no view. */
function isWhole(view: Uint8Array): boolean {
  const buffer = bufferOf(view);
  try {
    return bufferLength(buffer) === viewLength(view) && isResizable(buffer) === false;
  } catch {
    return false; // a SharedArrayBuffer
  }
}

class GuestOutbox extends Outbox {
  /** Views cross with all of the memory behind them, so those of a part of it are copied first. */
  override part(part: Part | null): string {
    if (part === null || typeof part === 'string' || isWhole(part)) return super.part(part);
    const copy = new Bytes(part);
    this.spend(copy);
    return super.part(copy);
  }

  /**
   * Says of a part that neither we nor the worker read it any more: its memory goes when the entry has ended. Left to the collector,
   * every few megabytes would cost a full collection.
   */
  spend(part: Uint8Array): void {
    if ((viewLength(part) as number) < SPENT_BYTES_MIN || !isWhole(part)) return;
    const spent = (this.spent ??= []);
    spent[spent.length] = part;
  }

  /** The entry has ended. Nothing of it can be a tenant's. */
  release(): void {
    const { spent } = this;
    if (spent === null) return;
    this.spent = null;
    for (let at = 0; at < spent.length; at++) {
      try {
        transfer(bufferOf(spent[at]), 0);
      } catch {
        // A worker that tampers with arrays has got hold of it.
      }
    }
  }
}

export const outbox = new GuestOutbox();

export function send(letter: string, ...fields: readonly (string | number)[]): void {
  // Not handed on by a spread, which would ask an iterator that may be a tenant's.
  let record = letter + FIELD;
  for (let at = 0; at < fields.length; at++) record += fields[at]! + FIELD;
  outbox.meta += record + RECORD;
}
