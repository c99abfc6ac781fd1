// Waits for what nobody tells of: looks again and again, with pauses in which the machine works on what is waited for.
import { setTimeout as pause } from 'node:timers/promises';

const PAUSE_MS = 5;

/** Resolves with what a look finds, once that is neither null, undefined nor false. */
export async function until<Found>(
  look: () => Found | Promise<Found>,
): Promise<Exclude<Found, null | undefined | false>> {
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false)
      return found as Exclude<Found, null | undefined | false>;
    await pause(PAUSE_MS);
  }
}
