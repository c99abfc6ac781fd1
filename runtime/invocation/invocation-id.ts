// Ids of invocations, as they stand in the log and in `x-request-id`: unique over all engines, and cheap, since every request
// gets one. Made by handler.ts.
import { randomBytes } from 'node:crypto';

/** Next id of this engine: a random prefix and a running number. */
export function createInvocationIds(): () => string {
  // 48 bits: two engines of a platform share a prefix once in a million million starts.
  const prefix = `${randomBytes(6).toString('hex')}-`;
  let last = 0;
  return () => prefix + ++last;
}
