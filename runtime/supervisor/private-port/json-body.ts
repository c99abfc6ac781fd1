// Reads the body of a request to the private port, mostly JSON. Used by delivery.ts and check.ts.
import type { IncomingMessage } from 'node:http';
import { PlatformError } from '#core/errors.ts';

/** @throws {PlatformError} `body_too_large`. */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new PlatformError('body_too_large', { limit: bytesMax });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** @throws {PlatformError} `bad_request`, `body_too_large`. */
export async function readJsonBody(
  request: IncomingMessage,
  bytesMax: number,
): Promise<{ body: Buffer; value: unknown }> {
  // A web page can send any other type without a preflight.
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
    throw new PlatformError('bad_request', { reason: 'The content type must be application/json' });
  const body = await readBody(request, bytesMax);
  try {
    return { body, value: JSON.parse(body.toString('utf8')) as unknown };
  } catch {
    throw new PlatformError('bad_request', { reason: 'The body is not JSON' });
  }
}
