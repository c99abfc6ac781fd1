// Limits a get of several keys: all values together may have at most the size of a single value. The stores of state
// check this before they read any value.
import { PlatformError } from '#core/errors.ts';
import { fixedLimits } from '#core/limits.ts';

/** @throws {PlatformError} `invalid_argument`. */
export function checkValueBytes(bytes: number): void {
  const { valueBytesMax } = fixedLimits.state;
  if (bytes <= valueBytesMax) return;
  const reason = `The values of these keys have ${bytes} bytes together, and one get may read ${valueBytesMax}`;
  throw new PlatformError('invalid_argument', { reason });
}
