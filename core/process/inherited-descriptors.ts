// Closes inherited descriptors, such as files of a shell, so that programs started by this process do not inherit
// them. Called at the start of processes that run tenant code, before they open any file.
import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** O_CLOEXEC. Node sets this flag on everything it opens; descriptors without it were inherited. */
const CLOSED_FOR_OTHERS = 0o2000000;
const STANDARD_MAX = 2;

/** @returns the closed descriptors. */
export function closeInherited(): number[] {
  return descriptors().filter((descriptor) => {
    try {
      const [, flags] = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1')) ?? [];
      if (flags === undefined || (Number.parseInt(flags, 8) & CLOSED_FOR_OTHERS) !== 0) return false;
      closeSync(descriptor);
      return true;
    } catch {
      // The descriptor used to read the list.
      return false;
    }
  });
}

/** Descriptors of this process; empty without /proc. */
function descriptors(): number[] {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter((descriptor) => descriptor > STANDARD_MAX);
  } catch {
    return [];
  }
}
