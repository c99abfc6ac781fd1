// Ids of invocations, as they stand in the log and in `x-request-id`: unique over all engines, and cheap, since every request
// gets one. A trusted proxy's own `x-request-id` is kept beside it.
import { randomBytes } from 'node:crypto';
import { headerIn } from '../server/header-block.ts';

/** Next id of this engine: a random prefix and a running number. */
export function createInvocationIds(): () => string {
  // Eleven digits and letters; the number follows after a letter that no base-36 text of ours ends with.
  const prefix = `${BigInt(`0x${randomBytes(7).toString('hex')}`)
    .toString(36)
    .padStart(11, '0')}-`;
  let last = 0;
  return () => prefix + ++last;
}

/** What a proxy calls the request, when it can be written anywhere; null otherwise. */
export function proxyRequestId(headerBlock: string): string | null {
  if (!headerBlock.includes('x-request-id\0')) return null;
  const value = headerIn(headerBlock, 'x-request-id')?.trim() ?? '';
  return /^[\w.:/+=@-]{1,128}$/.test(value) ? value : null;
}
