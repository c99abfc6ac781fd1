// Waiting for word of something new, with a poll besides: of streams that are followed (build-log-events.ts,
// line-events.ts).

/** Waits for a word, at most so long; a word that came before is not lost. */
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
