// How much one get of several keys may read: what a single value may have (`stateLimits` of bindings/state.ts). The
// stores of state ask before they read any value.
import { PlatformError } from '#core/errors.ts';

const togetherBytesMax = 25 * 1024 * 1024;

/** @throws {PlatformError} `invalid_argument`. */
export function checkTogether(bytes: number): void {
  if (bytes <= togetherBytesMax) return;
  const reason = `The values of these keys have ${bytes} bytes together, and one get may read ${togetherBytesMax}`;
  throw new PlatformError('invalid_argument', { reason });
}
