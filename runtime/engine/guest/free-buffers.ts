// Frees large buffers that are no longer read. If buffers were left to the garbage collector, every few megabytes would
// cost a full collection. Used by records.ts for sent buffers, and by bodies for decoded or joined buffers.

// Getters that are captured before any tenant code runs. They are used because a view may have its own properties with
// the same names.
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
/** Bytes of a view, even if a tenant replaced the getter. @throws {TypeError} if the value is not a view. */
export const byteLengthOf = viewLength as (view: Uint8Array) => number;
/** Below this size, the garbage collector is cheaper. */
const BYTES_LEAST = 64 * 1024;

/**
 * Whether a view covers its whole buffer, and that is a plain ArrayBuffer. @throws {TypeError} if the value is not a
 * view.
 */
export function isWhole(view: Uint8Array): boolean {
  const buffer = bufferOf(view);
  try {
    return bufferLength(buffer) === viewLength(view) && isResizable(buffer) === false;
  } catch {
    return false; // a SharedArrayBuffer
  }
}

/**
 * Whether a view is large enough to be freed and covers its whole buffer. @throws {TypeError} if the value is not a
 * view.
 */
export function isWorthFreeing(view: Uint8Array): boolean {
  return (viewLength(view) as number) >= BYTES_LEAST && isWhole(view);
}

/**
 * Frees the memory of a view that neither the platform nor the worker reads any more; small views, and views of a part
 * of a buffer, are not freed.
 */
export function freeBuffer(view: Uint8Array): void {
  if (!isWorthFreeing(view)) return;
  try {
    transfer(bufferOf(view), 0);
  } catch {
    // This fails if a worker that manipulates arrays has obtained the buffer.
  }
}
