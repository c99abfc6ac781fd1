// A worker's code for its isolates: bytes stored once in the process, outside all heaps, which V8 reads without a copy.
// Created where an artifact is read (artifacts/artifact-source.ts); read-only afterwards.
import { isAscii } from 'node:buffer';

/** The code of one bundle. */
export interface WorkerText {
  readonly bytes: SharedArrayBuffer;
  /** Whether the text has two bytes per character, because it has a character beyond ASCII. */
  readonly isWide: boolean;
  /** In characters. */
  readonly length: number;
}

/**
 * The string of a whole bundle would be a large object on the engine's heap, and several of them would cause a full
 * collection. If the bundle is decoded in pieces, unused pieces are still in the young generation.
 */
const PIECE_BYTES = 16 * 1024;

/** @param content UTF-8. */
export function toWorkerText(content: Buffer): WorkerText {
  if (isAscii(content)) {
    const bytes = new SharedArrayBuffer(content.byteLength);
    new Uint8Array(bytes).set(content);
    return { bytes, isWide: false, length: content.byteLength };
  }
  const pieces = piecesOf(content);
  const length = pieces.reduce((sum, piece) => sum + (isAscii(piece) ? piece.length : textOf(piece).length), 0);
  const bytes = new SharedArrayBuffer(length * 2);
  const target = Buffer.from(bytes);
  let at = 0;
  // All supported machines are little-endian.
  for (const piece of pieces) at += target.write(textOf(piece), at, 'utf16le');
  return { bytes, isWide: true, length };
}

/** Splits a UTF-8 text into pieces of whole characters. */
function piecesOf(content: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let from = 0; from < content.length;) {
    let to = Math.min(from + PIECE_BYTES, content.length);
    // A character has at most three continuation bytes.
    for (let back = 0; back < 3 && to < content.length && (content[to]! & 0xc0) === 0x80; back++) to--;
    pieces.push(content.subarray(from, to));
    from = to;
  }
  return pieces;
}

function textOf(piece: Buffer): string {
  return isAscii(piece) ? piece.toString('latin1') : piece.toString('utf8');
}
