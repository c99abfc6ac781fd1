// What the agent of a sandbox refuses with, as an error. Used by the routes; an agent may say
// anything.
import type { IncomingMessage } from 'node:http';
import { isErrorCode, PlatformError } from '#core/errors.ts';

const ERROR_BYTES_MAX = 64 * 1024;
const ERROR_CHARS_MAX = 4000;

/** What the agent refused with, as far as it is one of the errors that there are. */
export async function refusalOf(answer: IncomingMessage): Promise<Error> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > ERROR_BYTES_MAX) break;
    chunks.push(chunk);
  }
  const { code, message } = errorIn(Buffer.concat(chunks).toString());
  if (!isErrorCode(code))
    return new PlatformError('sandbox_lost', { reason: 'its agent does not answer as it should' });
  const refusal = new PlatformError(code);
  refusal.message = String(message).slice(0, ERROR_CHARS_MAX);
  return refusal;
}

/** Anything, since an agent may say anything. */
function errorIn(text: string): { readonly code?: unknown; readonly message?: unknown } {
  try {
    return (JSON.parse(text) as { error?: object } | null)?.error ?? {};
  } catch {
    return {};
  }
}
