// setImmediate for workers: the callback runs in the next turn of the timers. node-compat.ts injects this file into
// modules that name `setImmediate`.

export const setImmediate = /* @__PURE__ */ Object.assign(
  (callback: (...args: unknown[]) => void, ...args: unknown[]): unknown => setTimeout(callback, 0, ...args),
  {
    [Symbol.for('nodejs.util.promisify.custom')]: (value: unknown) =>
      new Promise((resolve) => setTimeout(resolve, 0, value)),
  },
);

export function clearImmediate(handle: unknown): void {
  clearTimeout(handle as number);
}
