// Reads the body of a request on an engine's Unix socket. Used by its routes.
import type { IncomingMessage } from 'node:http';

/** The whole body; null if it is larger than allowed. */
export async function readBytes(request: IncomingMessage, bytesMax: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
