// What the agent of a sandbox refuses with, as an error. Used by the routes; an agent may say
// anything.
import type { IncomingMessage } from 'node:http';
import { PlatformError } from '#core/errors.ts';
import { REFUSAL_BYTES_MAX, refusalIn } from '#core/sandbox/refusal.ts';

/** What the agent refused with, as far as it is one of the errors that there are. */
export async function refusalOf(answer: IncomingMessage): Promise<Error> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > REFUSAL_BYTES_MAX) break;
    chunks.push(chunk);
  }
  return (
    refusalIn(Buffer.concat(chunks).toString()) ??
    new PlatformError('sandbox_lost', { reason: 'its agent does not answer as it should' })
  );
}
