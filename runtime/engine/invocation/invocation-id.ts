// Ids of invocations, as in the log and in `x-request-id`: unique over all engines. A request takes a number; its
// text is created on demand. Made by handler.ts.
import { randomBytes } from 'node:crypto';

/** The ids of one engine. */
export interface InvocationIds {
  readonly prefix: string;
  /** The last number taken. */
  last: number;
}

export function createInvocationIds(): InvocationIds {
  // 48 bits: two engines of a platform share a prefix once in 10^12 starts.
  return { prefix: `${randomBytes(6).toString('hex')}-`, last: 0 };
}
