// node:timers/promises. Bundled into workers by node-compat.ts.

interface Options {
  readonly signal?: AbortSignal;
  readonly ref?: boolean;
}

function abortError(signal: AbortSignal): Error {
  const error = new Error('The operation was aborted', { cause: signal.reason });
  return Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' });
}

export function setTimeout<T>(delay?: number, value?: T, { signal }: Options = {}): Promise<T> {
  if (signal?.aborted === true) return Promise.reject(abortError(signal));
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      globalThis.clearTimeout(timer);
      reject(abortError(signal!));
    };
    const timer = globalThis.setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve(value as T);
    }, delay);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

export function setImmediate<T>(value?: T, options?: Options): Promise<T> {
  return setTimeout(0, value, options);
}

/** One value for each interval that has passed, including intervals that passed while no `next` was pending. */
export async function* setInterval<T>(
  delay?: number,
  value?: T,
  { signal }: Options = {},
): AsyncGenerator<T, void, undefined> {
  const check = (): void => {
    if (signal?.aborted === true) throw abortError(signal);
  };
  check();
  let due = 0;
  let wake: (() => void) | undefined;
  const timer = globalThis.setInterval(() => {
    due++;
    wake?.();
  }, delay);
  const stop = (): void => wake?.();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      check();
      if (due === 0) await new Promise<void>((resolve) => (wake = resolve));
      else {
        due--;
        yield value as T;
      }
    }
  } finally {
    globalThis.clearInterval(timer);
    signal?.removeEventListener('abort', stop);
  }
}

export const scheduler = {
  wait: (delay: number, options?: Options): Promise<undefined> => setTimeout(delay, undefined, options),
  yield: (): Promise<undefined> => setImmediate(),
};

export default { scheduler, setImmediate, setInterval, setTimeout };
