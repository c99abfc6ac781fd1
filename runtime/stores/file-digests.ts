// Checks the digests that a worker gives for a file: they are computed as the bytes arrive, and compared at the end.
// Used by the stores of files.
import { createHash } from 'node:crypto';
import { PlatformError } from '#core/errors.ts';
import type { FileDigests } from '../engine/bindings/files.ts';

/** Computes digests of a small array, each in a fraction of a millisecond. */
const TURN_BYTES = 256 * 1024;

/** Digests being computed. */
interface Digests {
  update(bytes: Uint8Array): void;
  /** Computes digests of a large array, over several ticks of the event loop. */
  updateInTurns(bytes: Uint8Array): Promise<void>;
  /**
   * Compares the digests. @param known digests that the caller has computed. @throws {PlatformError} `invalid_argument`
   * for a digest that differs.
   */
  check(known?: FileDigests): void;
}

/** Computes the expected digests. The caller computes MD5 if it needs it anyway. */
export function createDigests(expected: FileDigests, ownMd5 = true): Digests {
  const names = Object.keys(expected).filter((name) => !(ownMd5 && name === 'md5')) as (keyof FileDigests)[];
  const sums = names.map((name) => createHash(name));
  const update = (bytes: Uint8Array): void => {
    for (const sum of sums) sum.update(bytes);
  };
  return {
    update,
    async updateInTurns(bytes) {
      for (let at = 0; sums.length > 0 && at < bytes.byteLength; at += TURN_BYTES) {
        if (at > 0) await new Promise((resolve) => setImmediate(resolve));
        update(bytes.subarray(at, at + TURN_BYTES));
      }
    },
    check(known = {}) {
      const found: Partial<Record<keyof FileDigests, string>> = { ...known };
      for (const [index, name] of names.entries()) found[name] = sums[index]!.digest('hex');
      for (const [name, digest] of Object.entries(expected) as [keyof FileDigests, string][])
        if (found[name] !== digest)
          throw new PlatformError('invalid_argument', {
            reason: `The ${name} of the file is ${found[name]}, not ${digest}`,
          });
    },
  };
}
