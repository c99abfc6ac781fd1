// Converts an error response of a sandbox's agent to a PlatformError. Used by the routes. The response is untrusted.
import type { IncomingMessage } from 'node:http';
import { PlatformError } from '#core/errors.ts';
import { REFUSAL_BYTES_MAX, refusalIn } from '#core/sandbox/refusal.ts';

/** The agent's error if its code is known, otherwise a generic error. */
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
    new PlatformError('sandbox_lost', { reason: 'its agent sent an unexpected response' })
  );
}
