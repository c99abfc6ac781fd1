// The state of a thread of this process, from /proc. Linux only: on other systems it is not known.
import { readFileSync } from 'node:fs';

/**
 * Whether a thread sleeps; null: not known. A thread that is ready to run and gets no CPU does not sleep, and neither
 * does one that waits for a disk.
 *
 * @param thread its id in `/proc/self/task`.
 */
export function isThreadAsleep(thread: number): boolean | null {
  try {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1');
    // `<id> (<name>) <state> ...`; a name may have any character.
    return stat[stat.lastIndexOf(')') + 2] === 'S';
  } catch {
    return null;
  }
}
