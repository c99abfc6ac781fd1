// The content of a file on its way to the host: one part, or a stream of pieces.
import type { HostReply } from '../../host.ts';
import type { Part } from '../../../bridge/protocol.ts';
import { cancelPump, inPieces, openPump, WHOLE_BYTES_MAX } from '../../pumps.ts';
import { freeAfterEntry } from '../../records.ts';
import { isBlob } from '../../web/blob.ts';
import { newStreamId } from '../../web/fetch.ts';
import { Response, takeResponse } from '../../web/response.ts';
import { isAnyArrayBuffer, toBytes } from '../../web/text.ts';
import { encodeUtf8 } from '../../web/utf8.ts';

/** Sends a call. @param stream the id of the stream with the body; null if the body is in the parts. */
type Send = (stream: number | null, parts: Part[]) => Promise<HostReply>;

/** The value of a `put` as it crosses the bridge: a part, or a stream that is pumped while `send` runs. */
export async function withBody(value: unknown, send: Send): Promise<HostReply> {
  if (value === null || value === undefined) return send(null, ['']);
  const isBody =
    typeof value === 'string' ||
    isBlob(value) ||
    isAnyArrayBuffer(value) ||
    ArrayBuffer.isView(value) ||
    typeof value === 'object';
  if (
    !isBody ||
    (typeof value === 'object' &&
      !('getReader' in value) &&
      !isBlob(value) &&
      !isAnyArrayBuffer(value) &&
      !ArrayBuffer.isView(value))
  )
    throw new TypeError('A file must be a string, an ArrayBuffer, a view of one, a Blob or a ReadableStream');
  if (ArrayBuffer.isView(value) || isAnyArrayBuffer(value)) {
    // The bytes are copied now, because the worker may write to them before this entry ends.
    const copy = new Uint8Array(toBytes(value, 'A file'));
    if (copy.byteLength <= WHOLE_BYTES_MAX) {
      const sent = send(null, [copy]);
      freeAfterEntry(copy);
      return sent;
    }
    return pumped(inPieces(copy), send);
  }
  const { body } = takeResponse(new Response(value as never))!;
  if (body === null) return send(null, ['']);
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return pumped(body, send);
  if (body.length <= WHOLE_BYTES_MAX) return send(null, [body]);
  return pumped(inPieces(typeof body === 'string' ? encodeUtf8(body) : body), send);
}

/** Sends a body as a stream. */
async function pumped(body: Parameters<typeof openPump>[1], send: Send): Promise<HostReply> {
  const stream = newStreamId();
  openPump(stream, body, () => {});
  try {
    return await send(stream, []);
  } finally {
    // The call failed before the end of the body, so the rest is not read.
    cancelPump(stream);
  }
}
