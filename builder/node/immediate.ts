// setImmediate for workers: the next turn of the timers. Injected by node-compat.ts into modules that name it.

export function setImmediate(callback: (...args: unknown[]) => void, ...args: unknown[]): unknown {
  return setTimeout(callback, 0, ...args);
}

export function clearImmediate(handle: unknown): void {
  clearTimeout(handle as number);
}
