// Waits for what nobody tells of: looks again and again, with pauses in which the machine works on what is waited for.
// They grow with the time it takes: on a busy machine, looks would be most of what it is busy with.
import { setTimeout as pause } from 'node:timers/promises';

const [PAUSE_MS, PAUSE_MS_MAX] = [5, 100];
/** Of the time that has passed, a pause is this part: so much later it is seen at the most. */
const PAUSE_SHARE = 0.1;

/** Resolves with what a look finds, once that is neither null, undefined nor false. */
export async function until<Found>(
  look: () => Found | Promise<Found>,
): Promise<Exclude<Found, null | undefined | false>> {
  const began = performance.now();
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false)
      return found as Exclude<Found, null | undefined | false>;
    await pause(Math.min(Math.max(PAUSE_MS, (performance.now() - began) * PAUSE_SHARE), PAUSE_MS_MAX));
  }
}
