// Frees large buffers that nobody reads any more. Left to the collector, every few megabytes of them would cost a full
// collection. Used by records.ts, for what has left, and by bodies, for what was decoded or joined.

// As they were before any tenant code: getters, because a view may have properties of its own under their names.
const getter = (prototype: object, name: string): ((self: unknown) => unknown) => {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name) as { get: () => unknown };
  return Function.prototype.call.bind(get) as (self: unknown) => unknown;
};
const bufferOf = getter(Object.getPrototypeOf(Uint8Array.prototype) as object, 'buffer');
const viewLength = getter(Object.getPrototypeOf(Uint8Array.prototype) as object, 'byteLength');
const bufferLength = getter(ArrayBuffer.prototype, 'byteLength');
const isResizable = getter(ArrayBuffer.prototype, 'resizable');
const transfer = Function.prototype.call.bind(ArrayBuffer.prototype.transfer) as (
  buffer: unknown,
  bytes: number,
) => void;
/** Bytes of a view, whatever a tenant has made of the getter. @throws {TypeError} when it is no view. */
export const byteLengthOf = viewLength as (view: Uint8Array) => number;
/** Below it the garbage collector is cheaper. */
const BYTES_LEAST = 64 * 1024;

/** Whether a view shows all of a plain ArrayBuffer. @throws {TypeError} when it is no view. */
export function isWhole(view: Uint8Array): boolean {
  const buffer = bufferOf(view);
  try {
    return bufferLength(buffer) === viewLength(view) && isResizable(buffer) === false;
  } catch {
    return false; // a SharedArrayBuffer
  }
}

/**
 * Whether giving a view's memory back is worth it, and nothing else shows it. @throws {TypeError} when it is no view.
 */
export function isWorthGivingBack(view: Uint8Array): boolean {
  return (viewLength(view) as number) >= BYTES_LEAST && isWhole(view);
}

/**
 * Frees the memory of a view that neither we nor the worker read any more; a small one and one of a part of a buffer
 * are left alone.
 */
export function giveBack(view: Uint8Array): void {
  if (!isWorthGivingBack(view)) return;
  try {
    transfer(bufferOf(view), 0);
  } catch {
    // A worker that tampers with arrays has got hold of it.
  }
}
