// Closes what was open in whoever started this process, such as files of a shell: programs that this one starts would
// have it too. Called by the roots of processes that start code of strangers, before they open anything.
import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** What Node opens is closed for the programs that it starts; only what it was started with is not. */
const CLOSED_FOR_OTHERS = 0o2000000;
const STANDARD_MAX = 2;

/** @returns the numbers of those that were open. */
export function closeInherited(): number[] {
  return descriptors().filter((descriptor) => {
    try {
      const [, flags] = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1')) ?? [];
      if (flags === undefined || (Number.parseInt(flags, 8) & CLOSED_FOR_OTHERS) !== 0) return false;
      closeSync(descriptor);
      return true;
    } catch {
      // The one that the list was read with.
      return false;
    }
  });
}

/** Of this process; none where there is no Linux. */
function descriptors(): number[] {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter((descriptor) => descriptor > STANDARD_MAX);
  } catch {
    return [];
  }
}
