// Ids of invocations, as in the log and in `x-request-id`: unique over all engines. A request gets a number; the text
// of its id is created on demand. Made by handler.ts.
import { randomBytes } from 'node:crypto';

/** The ids of one engine. */
export interface InvocationIds {
  readonly prefix: string;
  /** The last number. */
  last: number;
}

export function createInvocationIds(): InvocationIds {
  // The prefix has 48 bits, so two engines of a platform have the same prefix once in 10^12 starts.
  return { prefix: `${randomBytes(6).toString('hex')}-`, last: 0 };
}
