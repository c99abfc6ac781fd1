// Small request bodies, collected on the host so that they enter the isolate together with their request. deployment.ts
// calls it. ASCII goes in as text: a string costs a fraction of what an array of bytes does, on both sides and to the
// garbage collector.
import { isAscii } from 'node:buffer';
import type { Part } from '../bridge/protocol.ts';
import type { Exchange } from '../http/listener.ts';

/** Beyond it copying characters costs more than handing over bytes. */
const TEXT_BYTES_MAX = 16 * 1024;

/** Reads a body whose length the client has declared. `onAbort`: the client went away before its end. */
export function collectBody(exchange: Exchange, onAbort: () => void, onBody: (body: Part) => void): void {
  const { bodyBytes } = exchange;
  let body: Uint8Array | null = null;
  let at = 0;
  exchange.onAbort = onAbort;
  exchange.readBody({
    chunk(bytes) {
      // Mostly there is one chunk.
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
