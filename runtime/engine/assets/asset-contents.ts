// The bytes of static files. Small files are cached in memory while they are used, others are read in pieces. Created
// by assets.ts; independent of requests and headers.
import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { PlatformError } from '#core/errors.ts';
import type { FilePart } from './asset-conditions.ts';

/** Files up to this size are sent whole and kept in memory. */
const SMALL_BYTES_MAX = 64 * 1024;
/** Memory for cached files, shared by all deployments. */
const CACHE_BYTES_MAX = 64 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;

/** The bytes of a file, or of a compressed version of it. They are in memory if the file is small and in use. */
export class StoredFile {
  readonly artifact: string;
  readonly path: string;
  readonly hash: string;
  readonly total: number;
  content: Uint8Array | null = null;
  loading: Promise<Uint8Array> | null = null;
  /** For the second-chance algorithm: set by every use, cleared by the search for an entry to drop. */
  used = false;

  constructor(artifact: string, path: string, { hash, bytes }: { readonly hash: string; readonly bytes: number }) {
    this.artifact = artifact;
    this.path = path;
    this.hash = hash;
    this.total = bytes;
  }
}

/** A part of a file, or the whole file; `end` is exclusive. */
export interface AssetBody {
  readonly file: StoredFile;
  readonly start: number;
  readonly end: number;
  /** Several parts, each with its own head; `start` and `end` refer to the whole body. */
  readonly parts?: readonly (FilePart & { readonly head: Uint8Array })[];
  readonly tail?: Uint8Array;
}

/** Bytes of static files. */
interface AssetContents {
  /** Reads a body, in pieces of at most 64 KB. @throws {PlatformError} `artifact_corrupt` */
  read(body: AssetBody): AsyncGenerator<Uint8Array, void, undefined>;
}

export function createAssetContents(options: { readonly cacheBytesMax?: number } = {}): AssetContents {
  const room = options.cacheBytesMax ?? CACHE_BYTES_MAX;
  const cached: StoredFile[] = [];
  let cachedBytes = 0;
  let hand = 0;

  /** Caches a small file; drops others that were not used since the last pass. */
  function keep(file: StoredFile, bytes: Uint8Array): void {
    if (bytes.byteLength > room) return;
    while (cachedBytes + bytes.byteLength > room) {
      if (hand >= cached.length) hand = 0;
      const other = cached[hand]!;
      if (other.used) {
        other.used = false;
        hand++;
        continue;
      }
      cachedBytes -= other.content!.byteLength;
      other.content = null;
      const end = cached.pop()!;
      if (end !== other) cached[hand] = end;
    }
    file.content = bytes;
    cached.push(file);
    cachedBytes += bytes.byteLength;
  }

  /** Loads a small file as a whole, through the cache; its hash is verified when it is read. */
  function load(file: StoredFile): Promise<Uint8Array> {
    file.loading ??= readFile(file.path)
      .then(
        (bytes) => {
          if (createHash('sha256').update(bytes).digest('hex') !== file.hash)
            throw corrupt(file, 'does not match its hash');
          keep(file, bytes);
          return bytes;
        },
        (error: Error) => {
          throw corrupt(file, 'cannot be read', error);
        },
      )
      .finally(() => {
        file.loading = null;
      });
    return file.loading;
  }

  async function* read({ file, start, end, parts, tail }: AssetBody): AsyncGenerator<Uint8Array, void, undefined> {
    if (parts !== undefined) {
      for (const part of parts) {
        yield part.head;
        yield* read({ file, start: part.start, end: part.end });
      }
      yield tail!;
      return;
    }
    if (file.total <= SMALL_BYTES_MAX) {
      file.used = true;
      const bytes = file.content ?? (await load(file));
      if (end > start) yield bytes.subarray(start, end);
      return;
    }
    const handle = await open(file.path).catch((error: Error) => {
      throw corrupt(file, 'cannot be read', error);
    });
    try {
      if ((await handle.stat()).size !== file.total) throw corrupt(file, 'does not have its size');
      for (let at = start; at < end;) {
        const { bytesRead, buffer } = await handle.read(
          Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, end - at)),
          0,
          undefined,
          at,
        );
        if (bytesRead === 0) throw corrupt(file, 'does not have its size');
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await handle.close();
    }
  }

  return { read };
}

function corrupt(file: StoredFile, reason: string, cause?: Error): PlatformError {
  return new PlatformError('artifact_corrupt', { artifact: file.artifact, reason: `an asset ${reason}` }, { cause });
}
