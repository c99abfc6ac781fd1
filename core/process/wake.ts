// Waits of background loops and streams: for a wake-up, for a time, or until the process or the client has ended.

/** Lets one loop wait, and wakes it. */
interface Wake {
  /** Ends the wait. A wake-up before a wait is remembered, so that it is not lost. */
  readonly now: () => void;
  /** Waits for a wake-up, at most `ms` milliseconds. */
  wait(ms: number): Promise<void>;
  /** Forgets the signal. */
  close(): void;
}

/** @param gone the signal that ends the loop; it also wakes the loop. */
export function createWake(gone: AbortSignal): Wake {
  let isDue = gone.aborted;
  let resume: (() => void) | null = null;
  const now = (): void => {
    isDue = true;
    resume?.();
  };
  gone.addEventListener('abort', now, { once: true });
  return {
    now,
    wait(ms) {
      return new Promise((resolve) => {
        const timer = setTimeout(done, ms);
        function done(): void {
          clearTimeout(timer);
          resume = null;
          isDue = false;
          resolve();
        }
        resume = done;
        if (isDue) done();
      });
    },
    close: () => gone.removeEventListener('abort', now),
  };
}

/** Resolves after `ms` milliseconds, or when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
