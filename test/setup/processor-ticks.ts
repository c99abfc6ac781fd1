// What the machine's processors did, as the system counts it: for attacks, which are judged by time, and for benches.
import { readFileSync } from 'node:fs';

/**
 * Time of all processors: busy, taken by the machine's host, altogether, and of this process with the ended ones below
 * it; zeros where the system does not say.
 */
export function processorTicks(): { busy: number; taken: number; all: number; own: number } {
  try {
    const machine = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0]!.trim().split(/\s+/).slice(1, 9).map(Number);
    const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]!.split(' ');
    const all = machine.reduce((sum, ticks) => sum + ticks, 0);
    const own = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
    return { busy: all - machine[3]! - machine[4]!, taken: machine[7]!, all, own };
  } catch {
    return { busy: 0, taken: 0, all: 0, own: 0 };
  }
}
