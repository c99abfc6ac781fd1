// When an entry that nothing ends counts as stuck, and its isolate is lost with it. Pure; isolate.ts counts the checks,
// upkeep.ts has them made.

/** Between two checks of what runs. */
export const CHECK_MS = 50;
/**
 * Wall time beside twice the CPU limits of what may run in an entry: others run too, and its limits would have ended it
 * long before.
 */
const SPARE_MS = 5000;

/**
 * Checks of one entry until it counts as stuck; infinite where something in it has no CPU limit.
 *
 * @param limitsMs CPU limits of what may run in it, 0 for none. Of invocations the longest counts, since each is
 * charged by itself.
 * @param startupMs limit of the top level where that runs in it too.
 * @example
 * checksUntilStuck([1000, 1000], null); // 140: 7 s
 */
export function checksUntilStuck(limitsMs: Iterable<number>, startupMs: number | null): number {
  let longestMs = 0;
  for (const limitMs of limitsMs) {
    if (limitMs === 0) return Number.POSITIVE_INFINITY;
    if (limitMs > longestMs) longestMs = limitMs;
  }
  if (startupMs === 0) return Number.POSITIVE_INFINITY;
  return (SPARE_MS + 2 * (longestMs + (startupMs ?? 0))) / CHECK_MS;
}
