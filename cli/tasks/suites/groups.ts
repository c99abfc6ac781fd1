// Chooses the test files that run in one process. Pure; run-files.ts writes and starts the groups.
import { OWN_PROCESS, SHARED_PROCESS } from '#test/suites.ts';

/** Size limits, so that three parallel processes end together and a crash fails few files. */
const GROUP_CPU_SECONDS_MAX = 15;
const GROUP_FILES_MAX = 60;

/**
 * The files of each process. Neighbours in the order of paths share a process, since they import the same modules.
 *
 * @param files paths relative to the checkout.
 * @param cost the function that returns the CPU seconds of a file.
 * @example
 * groupsOf(['test/unit/a', 'test/unit/b', 'test/e2e/c'], () => 1); // [['test/e2e/c'], ['test/unit/a', 'test/unit/b']]
 */
export function groupsOf(files: readonly string[], cost: (file: string) => number): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let open: string[] = [];
  let seconds = 0;
  for (const file of files.toSorted()) {
    if (!canShare(file)) {
      groups.push([file]);
      continue;
    }
    if (seconds + cost(file) > GROUP_CPU_SECONDS_MAX || open.length >= GROUP_FILES_MAX) {
      groups.push(open);
      [open, seconds] = [[], 0];
    }
    open.push(file);
    seconds += cost(file);
  }
  return [...groups, open].filter((group) => group.length > 0);
}

function canShare(file: string): boolean {
  const isIn = (prefix: string): boolean => file.startsWith(prefix);
  return SHARED_PROCESS.some(isIn) && !OWN_PROCESS.some(isIn);
}
