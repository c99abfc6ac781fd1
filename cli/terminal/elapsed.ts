// How long work takes: a status line with its seconds while it runs, and the text of a duration.
import type { Shell } from './shell.ts';

const TICK_MS = 1000;

/**
 * Shows a status line with the seconds since now: `Building ... 12 s`. The status line is shown only on a terminal.
 *
 * @param text called for each second.
 * @returns a function that stops and clears the line.
 */
export function showElapsed(shell: Pick<Shell, 'progress'>, text: () => string): () => void {
  let seconds = 0;
  shell.progress(`${text()} ...`);
  const timer = setInterval(() => shell.progress(`${text()} ... ${++seconds} s`), TICK_MS).unref();
  return () => {
    clearInterval(timer);
    shell.progress(null);
  };
}

/** Shows a status line with its seconds while some work runs. */
export async function whileShown<Result>(
  shell: Pick<Shell, 'progress'>,
  text: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const stop = showElapsed(shell, () => text);
  try {
    return await work();
  } finally {
    stop();
  }
}

/** @example formatSeconds(4230) // '4.2 s' */
export function formatSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
