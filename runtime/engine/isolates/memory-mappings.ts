// Linux gives a process so many memory mappings, of which V8 takes some for each isolate: one more than there are ends
// the process with all that it serves.
import { readFileSync } from 'node:fs';

/** What an isolate of a small worker takes: 65,530 were used up by 4,040 (`npm run bench density`). */
const MAPPINGS_EACH = 16;
/** Of all mappings; the rest is for heaps that grow, and for the engine. */
const SHARE = 0.75;

/** Mappings that a process may have, `vm.max_map_count`; null where the system knows no such bound. */
export function mappingsMax(): number | null {
  try {
    return Number(readFileSync('/proc/sys/vm/max_map_count', 'latin1'));
  } catch {
    return null;
  }
}

/** Live isolates that so many mappings are enough for. @example isolatesThatFit(65_530) // 3071 */
export function isolatesThatFit(mappings: number): number {
  return Math.floor((mappings * SHARE) / MAPPINGS_EACH);
}

/** The least number of mappings for so many live isolates. @example mappingsFor(5000) // 106667 */
export function mappingsFor(isolates: number): number {
  return Math.ceil((isolates * MAPPINGS_EACH) / SHARE);
}
