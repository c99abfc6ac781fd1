// A worker's code as its isolates take it: bytes that lie once in the process, outside all heaps, and that V8 reads in
// place. Made where an artifact is read (deployments/artifact-source.ts); nobody writes to it afterwards.
import { isAscii } from 'node:buffer';

/** The code of one bundle. */
export interface WorkerText {
  readonly bytes: SharedArrayBuffer;
  /** Two bytes a character: it has one beyond ASCII. */
  readonly isWide: boolean;
  /** In characters. */
  readonly length: number;
}

/** @param content UTF-8. */
export function toWorkerText(content: Buffer): WorkerText {
  if (isAscii(content)) {
    const bytes = new SharedArrayBuffer(content.byteLength);
    new Uint8Array(bytes).set(content);
    return { bytes, isWide: false, length: content.byteLength };
  }
  const text = content.toString('utf8');
  const bytes = new SharedArrayBuffer(text.length * 2);
  // All machines that isolates run on are little-endian.
  Buffer.from(bytes).write(text, 'utf16le');
  return { bytes, isWide: true, length: text.length };
}
