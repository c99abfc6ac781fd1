// The frames of an RPC session: a message as JSON, with the bytes that it refers to.
import type { Part } from '../../../bridge/protocol.ts';
import { fromJson, toJson } from '../../safe.ts';
import { decodeUtf8, encodeUtf8 } from '../../web/utf8.ts';

/** Encodes a message: as text, or if it has bytes, as the length of the text, the text and the parts. */
export function toFrame(message: readonly unknown[], parts: readonly Uint8Array[]): Part {
  if (parts.length === 0) return toJson(message);
  const text = encodeUtf8(toJson([message, parts.map((part) => part.byteLength)]));
  let length = 4 + text.byteLength;
  for (const part of parts) length += part.byteLength;
  const frame = new Uint8Array(length);
  new DataView(frame.buffer).setUint32(0, text.byteLength, true);
  frame.set(text, 4);
  let at = 4 + text.byteLength;
  for (const part of parts) {
    frame.set(part, at);
    at += part.byteLength;
  }
  return frame;
}

/** @throws {Error} when the part is not a frame of {@link toFrame}. */
export function fromFrame(frame: Part): { message: readonly unknown[]; parts: readonly Uint8Array[] } {
  if (typeof frame === 'string') return { message: fromJson(frame) as readonly unknown[], parts: [] };
  const length = new DataView(frame.buffer, frame.byteOffset).getUint32(0, true);
  const [message, lengths] = fromJson(decodeUtf8(frame.subarray(4, 4 + length))) as [unknown[], number[]];
  let at = 4 + length;
  const parts = lengths.map((bytes) => frame.slice(at, (at += bytes)));
  return { message, parts };
}
