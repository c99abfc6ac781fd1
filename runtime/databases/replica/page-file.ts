// The format of a replica's objects: pages of a database with their numbers, compressed, with a checksum. Parts of
// snapshots and changes have the same format; a pack contains several changes in one object. Pure.
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** Pages of a database at a moment. */
export interface Pages {
  /** Position in the series of this database. */
  readonly sequence: number;
  /** Milliseconds since 1970; all its content was committed before that time. */
  readonly time: number;
  readonly pageBytes: number;
  /** Size of the database, in pages. */
  readonly databasePages: number;
  readonly numbers: Uint32Array;
  /** The pages, in the order of `numbers`. */
  readonly content: Uint8Array;
}

const HEADER_BYTES = 40;
const MAGIC = 'PDBR';
const VERSION = 1;
const LEVEL = 1;
/** Size limit of an object's content. */
const CONTENT_BYTES_MAX = 256 * 1024 * 1024;

export function encodePages({ sequence, time, pageBytes, databasePages, numbers, content }: Pages): Buffer {
  const compressed = zstdCompressSync(content, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(MAGIC, 0, 'latin1');
  header.writeUInt32LE(VERSION, 4);
  header.writeUInt32LE(sequence, 8);
  header.writeDoubleLE(time, 12);
  header.writeUInt32LE(pageBytes, 20);
  header.writeUInt32LE(databasePages, 24);
  header.writeUInt32LE(numbers.length, 28);
  header.writeUInt32LE(crc32(content), 32);
  header.writeUInt32LE(compressed.length, 36);
  const list = Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  return Buffer.concat([header, list, compressed]);
}

/**
 * Reads the entries of an object, one after the other. @throws {Error} when the object is damaged, or of a newer
 * version.
 */
export function* decodePages(bytes: Buffer): Generator<Pages> {
  for (let at = 0; at < bytes.length;) {
    if (bytes.length - at < HEADER_BYTES || bytes.toString('latin1', at, at + 4) !== MAGIC) throw damaged();
    if (bytes.readUInt32LE(at + 4) !== VERSION) throw new Error('it is of a newer version of the platform');
    const [pageBytes, databasePages, count] = [20, 24, 28].map((offset) => bytes.readUInt32LE(at + offset)) as [
      number,
      number,
      number,
    ];
    const compressedBytes = bytes.readUInt32LE(at + 36);
    const contentAt = at + HEADER_BYTES + 4 * count;
    const end = contentAt + compressedBytes;
    if (pageBytes > 65_536 || pageBytes * count > CONTENT_BYTES_MAX || end > bytes.length) throw damaged();
    const numbers = Uint32Array.from({ length: count }, (_, index) =>
      bytes.readUInt32LE(at + HEADER_BYTES + 4 * index),
    );
    const content = unpacked(bytes.subarray(contentAt, end), pageBytes * count);
    if (crc32(content) !== bytes.readUInt32LE(at + 32) || numbers.some((page) => page === 0 || page > databasePages))
      throw damaged();
    yield {
      sequence: bytes.readUInt32LE(at + 8),
      time: bytes.readDoubleLE(at + 12),
      pageBytes,
      databasePages,
      numbers,
      content,
    };
    at = end;
  }
}

function unpacked(bytes: Buffer, length: number): Buffer {
  try {
    const content = zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, length) });
    if (content.length === length) return content;
  } catch {
    // Below.
  }
  throw damaged();
}

function damaged(): Error {
  return new Error('it is damaged');
}
