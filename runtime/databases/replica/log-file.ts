// Reads SQLite's write-ahead log: the pages that were changed by transactions committed after a position. Opens no file
// and takes no lock: its caller (stream.ts) holds a read transaction, so no frame is overwritten in the meantime.
import { fstatSync, readSync } from 'node:fs';
import { endianness } from 'node:os';

/** A position in a log. */
export interface LogPosition {
  /** The salts of this run of the log; SQLite changes them when it restarts the log. */
  readonly salts: readonly [number, number];
  readonly frames: number;
  /** The checksum of the last of these frames, or of the header. */
  readonly checksum: readonly [number, number];
}

/** The changes committed after a position. */
export interface LogPart {
  readonly position: LogPosition;
  /** The log was restarted after the position. */
  readonly restarted: boolean;
  readonly pageBytes: number;
  /** Where the latest content of each page is in the log. */
  readonly pages: ReadonlyMap<number, number>;
  /** Size of the database after the last commit, in pages; 0 if there was no commit. */
  readonly databasePages: number;
}

/** `diverged`: the frames do not continue from the position; `long`: there are more than `framesMax`. */
export type LogProblem = 'diverged' | 'long';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;
const VERSION = 3_007_000;
const FRAMES_A_READ = 64;

/**
 * Reads the changes committed after a position.
 *
 * @param log descriptor of the log. @param from null means from its beginning.
 * @returns null for a log that is empty, or has no valid header.
 */
export function readLog(log: number, from: LogPosition | null, framesMax: number): LogPart | LogProblem | null {
  const header = Buffer.alloc(HEADER_BYTES);
  if (readSync(log, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return null;
  // Only big-endian machines write big-endian checksums, and the platform does not support such machines.
  if (header.readUInt32BE(0) !== MAGIC || header.readUInt32BE(4) !== VERSION || endianness() !== 'LE') return null;
  const pageBytes = header.readUInt32BE(8);
  const salts = [header.readUInt32BE(16), header.readUInt32BE(20)] as const;
  const begin = checksumOf(words(header, 0, HEADER_BYTES - 8), [0, 0]);
  if (begin[0] !== header.readUInt32BE(24) || begin[1] !== header.readUInt32BE(28)) return null;
  const restarted = from !== null && !isSame(from.salts, salts);
  if (restarted && salts[0] !== (from.salts[0] + 1) >>> 0) return 'diverged';
  const goesOn = from !== null && !restarted;
  if (goesOn && !hasFrame(log, pageBytes, from)) return 'diverged';
  let position: LogPosition = goesOn ? from : { salts, frames: 0, checksum: begin };

  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  const pages = new Map<number, number>();
  const uncommitted = new Map<number, number>();
  let { frames } = position;
  // Most logs are short, and many are read.
  const left = Math.floor((fstatSync(log).size - HEADER_BYTES) / frameBytes) - frames;
  const atOnce = Math.min(FRAMES_A_READ, Math.max(1, left));
  const piece = Buffer.from(new ArrayBuffer(atOnce * frameBytes));
  let checksum = position.checksum;
  let databasePages = 0;
  for (;;) {
    const got = readSync(log, piece, 0, piece.length, HEADER_BYTES + frames * frameBytes);
    const whole = Math.floor(got / frameBytes);
    for (let index = 0; index < whole; index++) {
      const at = index * frameBytes;
      const isValid = piece.readUInt32BE(at + 8) === salts[0] && piece.readUInt32BE(at + 12) === salts[1];
      const next = isValid
        ? checksumOf(words(piece, at + FRAME_HEADER_BYTES, pageBytes), checksumOf(words(piece, at, 8), checksum))
        : null;
      if (next === null || next[0] !== piece.readUInt32BE(at + 16) || next[1] !== piece.readUInt32BE(at + 20))
        return { position, restarted, pageBytes, pages, databasePages };
      checksum = next;
      uncommitted.set(piece.readUInt32BE(at), HEADER_BYTES + frames * frameBytes + FRAME_HEADER_BYTES);
      frames++;
      const size = piece.readUInt32BE(at + 4);
      if (size === 0) continue;
      for (const [page, offset] of uncommitted) pages.set(page, offset);
      uncommitted.clear();
      databasePages = size;
      position = { salts, frames, checksum };
    }
    if (frames - (goesOn ? from.frames : 0) > framesMax) return 'long';
    if (whole < atOnce) return { position, restarted, pageBytes, pages, databasePages };
  }
}

/** Whether the log still contains the last frame of the position: a power failure may have changed the end of a log. */
function hasFrame(log: number, pageBytes: number, { frames, checksum }: LogPosition): boolean {
  if (frames === 0) return true;
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  const at = HEADER_BYTES + (frames - 1) * (FRAME_HEADER_BYTES + pageBytes);
  if (readSync(log, header, 0, FRAME_HEADER_BYTES, at) < FRAME_HEADER_BYTES) return false;
  return isSame(checksum, [header.readUInt32BE(16), header.readUInt32BE(20)]);
}

function isSame(one: readonly [number, number], other: readonly [number, number]): boolean {
  return one[0] === other[0] && one[1] === other[1];
}

function words(bytes: Buffer, at: number, length: number): Uint32Array {
  const offset = bytes.byteOffset + at;
  if (offset % 4 === 0) return new Uint32Array(bytes.buffer, offset, length / 4);
  return new Uint32Array(Uint8Array.from(bytes.subarray(at, at + length)).buffer);
}

/** Continues SQLite's checksum of a log. */
function checksumOf(values: Uint32Array, [first, second]: readonly [number, number]): [number, number] {
  let [one, two] = [first | 0, second | 0];
  for (let index = 0; index < values.length; index += 2) {
    one = (one + (values[index]! | 0) + two) | 0;
    two = (two + (values[index + 1]! | 0) + one) | 0;
  }
  return [one >>> 0, two >>> 0];
}
