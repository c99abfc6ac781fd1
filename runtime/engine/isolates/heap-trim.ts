// Decides whether a trim of an isolate's heap would free enough memory. Called by isolate.ts.

/**
 * Smaller heaps, such as those of minimal workers, release 0.25 MB, which is too little for a trim soon after the last
 * request.
 */
const TRIM_BYTES_MIN = 1.5 * 1024 * 1024;
/**
 * An isolate is not trimmed if its heap is less than this much larger than after its last trim, because the trim would
 * cost more than it frees.
 */
const GROWN_BYTES_MIN = 512 * 1024;
/** The growth for a trim of an isolate that has been idle for long. */
const RESTING_GROWN_BYTES_MIN = 128 * 1024;

/** @param before the heap after its last trim. @param isResting whether the isolate has been idle for long. */
export function isTrimWorth(bytes: number, before: number, isResting: boolean): boolean {
  const grown = bytes - before;
  return isResting ? grown >= RESTING_GROWN_BYTES_MIN : bytes >= TRIM_BYTES_MIN && grown >= GROWN_BYTES_MIN;
}
