// Waits for a wake-up or a timeout, for streams that follow something (build-log-events.ts, line-events.ts).

/** Waits for a wake-up, at most `ms`. A wake-up that came before the wait is not lost. */
export function createWake(gone: AbortSignal): { now(): void; wait(ms: number): Promise<void> } {
  let isDue = false;
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
        const timer = setTimeout(done, isDue ? 0 : ms);
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
  };
}
