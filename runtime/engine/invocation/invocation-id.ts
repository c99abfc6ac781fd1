// Ids of invocations, as they stand in the log and in `x-request-id`: unique over all engines. A request takes a
// number; the text is made when somebody wants to read it. Made by handler.ts.
import { randomBytes } from 'node:crypto';

/** The ids of one engine. */
export interface InvocationIds {
  readonly prefix: string;
  /** The last number that was taken. */
  last: number;
}

export function createInvocationIds(): InvocationIds {
  // 48 bits: two engines of a platform share a prefix once in a million million starts.
  return { prefix: `${randomBytes(6).toString('hex')}-`, last: 0 };
}
