// The state of a thread of this process, from /proc; only known on Linux.
import { readFileSync } from 'node:fs';

/**
 * Whether a thread sleeps; null if unknown. A runnable thread that gets no CPU is not asleep, and neither is a thread
 * that waits for a disk.
 *
 * @param thread its id in `/proc/self/task`.
 */
export function isThreadAsleep(thread: number): boolean | null {
  try {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1');
    // Fields after the name; the format is `<id> (<name>) <state> ...`, and a name may contain any character.
    return stat[stat.lastIndexOf(')') + 2] === 'S';
  } catch {
    return null;
  }
}
