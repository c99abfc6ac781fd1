// Periodic work of the sandbox service: sweeps, leases, tokens.

/**
 * Runs `work` every `ms` milliseconds, first after one interval, and never concurrently.
 *
 * @param failed called with errors; the work is repeated anyway.
 * @returns a function that stops it, and resolves when the current run has finished.
 */
export function repeat(ms: number, work: () => Promise<void>, failed: (error: Error) => void): () => Promise<void> {
  let timer: NodeJS.Timeout;
  let running: Promise<void> = Promise.resolve();
  let isStopped = false;
  const next = (): void => {
    running = work()
      .catch(failed)
      .then(() => {
        if (!isStopped) timer = setTimeout(next, ms);
      });
  };
  timer = setTimeout(next, ms);
  return () => {
    isStopped = true;
    clearTimeout(timer);
    return running;
  };
}
