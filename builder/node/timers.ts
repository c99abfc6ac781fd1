// node:timers: the worker's timers as Node's Timeout objects. Timers do not keep an isolate alive, so `ref` and `unref`
// only record their state. Bundled into workers by node-compat.ts.
import * as promises from './timers-promises.ts';

type Callback = (...args: never[]) => void;

/** A timer of setTimeout or setInterval. */
export class Timeout {
  readonly #start: () => number;
  #id: number;
  #referenced = true;

  constructor(start: () => number) {
    this.#start = start;
    this.#id = start();
  }

  ref(): this {
    this.#referenced = true;
    return this;
  }

  unref(): this {
    this.#referenced = false;
    return this;
  }

  hasRef(): boolean {
    return this.#referenced;
  }

  refresh(): this {
    globalThis.clearTimeout(this.#id);
    this.#id = this.#start();
    return this;
  }

  close(): this {
    globalThis.clearTimeout(this.#id);
    return this;
  }

  /** The global clearTimeout converts a Timeout to its number. */
  [Symbol.toPrimitive](): number {
    return this.#id;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

type Start = (callback: Callback, delay?: number, ...args: unknown[]) => number;

const promisified = Symbol.for('nodejs.util.promisify.custom');

export const setTimeout = /* @__PURE__ */ Object.assign(
  (callback: Callback, delay?: number, ...args: unknown[]): Timeout =>
    new Timeout(() => (globalThis.setTimeout as unknown as Start)(callback, delay, ...args)),
  { [promisified]: promises.setTimeout },
);
export const setInterval = (callback: Callback, delay?: number, ...args: unknown[]): Timeout =>
  new Timeout(() => (globalThis.setInterval as unknown as Start)(callback, delay, ...args));
export const setImmediate = /* @__PURE__ */ Object.assign(
  (callback: Callback, ...args: unknown[]): Timeout =>
    new Timeout(() => (globalThis.setTimeout as unknown as Start)(callback, 0, ...args)),
  { [promisified]: promises.setImmediate },
);

export function clearTimeout(timer?: Timeout | number): void {
  if (timer instanceof Timeout) timer.close();
  else globalThis.clearTimeout(timer);
}
export const clearInterval = clearTimeout;
export const clearImmediate = clearTimeout;
export { promises };

export default { clearImmediate, clearInterval, clearTimeout, promises, setImmediate, setInterval, setTimeout };
