// Collects small request bodies on the host, so that they enter the isolate together with their request. Used by
// deployment.ts. ASCII is passed as text, because a string costs a fraction of a byte array, on both sides and for the
// garbage collector.
import { isAscii } from 'node:buffer';
import type { Part } from '../bridge/protocol.ts';
import type { Exchange } from '../http/listener.ts';

/** Above this size, copying characters costs more than transferring bytes. */
const TEXT_BYTES_MAX = 16 * 1024;

/** Reads a body with a declared length. `onAbort` is called if the client disconnects before the end. */
export function collectBody(exchange: Exchange, onAbort: () => void, onBody: (body: Part) => void): void {
  const { bodyBytes } = exchange;
  let body: Uint8Array | null = null;
  let at = 0;
  exchange.onAbort = onAbort;
  exchange.readBody({
    chunk(bytes) {
      // Most bodies have one chunk.
      if (at === 0 && bytes.byteLength === bodyBytes) body = bytes;
      else (body ??= Buffer.allocUnsafeSlow(bodyBytes)).set(bytes, at);
      at += bytes.byteLength;
      return true;
    },
    end: () => onBody(toPart(body!)),
  });
}

function toPart(bytes: Uint8Array): Part {
  if (bytes.byteLength <= TEXT_BYTES_MAX && isAscii(bytes)) return bufferOf(bytes).latin1Slice();
  return bytes;
}

function bufferOf(bytes: Uint8Array): Buffer & { latin1Slice(): string } {
  return (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) as never;
}
