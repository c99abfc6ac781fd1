// Work of the sandbox service that comes back by time: sweeps, leases, tokens.

/**
 * Does `work` every `ms` milliseconds, from one interval after now, each time when the one before it is done.
 *
 * @param failed hears of what fails; it is done again all the same.
 * @returns stops it, and resolves when what is running is done.
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
