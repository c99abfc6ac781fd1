// The state of a thread of this process, from /proc. Linux only: unknown on other systems.
import { readFileSync } from 'node:fs';

/**
 * Whether a thread sleeps; null if unknown. A runnable thread that gets no CPU does not sleep, and neither does a
 * thread that waits for a disk.
 *
 * @param thread its id in `/proc/self/task`.
 */
export function isThreadAsleep(thread: number): boolean | null {
  try {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1');
    // `<id> (<name>) <state> ...`; a name may contain any character.
    return stat[stat.lastIndexOf(')') + 2] === 'S';
  } catch {
    return null;
  }
}
