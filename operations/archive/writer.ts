// Adds parts to a backup: splits them into contents, names each by its hash, and stores the missing ones.
import { createHash } from 'node:crypto';
import type { Codec } from './codec.ts';
import { BLOB_BYTES_MAX, FORMAT, type Manifest, type Part } from './manifest.ts';
import type { BackupSink } from './store.ts';

/** A part's metadata, known before its bytes are read. */
export type PartName = Pick<Part, 'kind' | 'name' | 'columns' | 'partitions'>;

/** Progress of a backup. */
export interface BackupProgress {
  readonly parts: number;
  /** Bytes of all parts so far. */
  readonly bytes: number;
  readonly last: string;
}

export class BackupWriter {
  #sink: BackupSink;
  #codec: Codec;
  #progress: (progress: BackupProgress) => void;
  #parts: Part[] = [];
  #bytes = 0;
  #sentBytes = 0;

  constructor(sink: BackupSink, codec: Codec, progress: (progress: BackupProgress) => void) {
    this.#sink = sink;
    this.#codec = codec;
    this.#progress = progress;
  }

  /** Bytes of all parts so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes stored, in encoded form. */
  get sentBytes(): number {
    return this.#sentBytes;
  }

  /** Parts of one kind so far. */
  count(kind: Part['kind']): number {
    return this.#parts.filter((part) => part.kind === kind).length;
  }

  /** @param lines whether to count lines: a table in COPY format has one per row. */
  async add(part: PartName, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, lines = false): Promise<Part> {
    const whole = createHash('sha256');
    const blobs: string[] = [];
    let [bytes, rows] = [0, 0];
    for await (const piece of pieces(content)) {
      whole.update(piece);
      bytes += piece.length;
      if (lines) rows += newlines(piece);
      blobs.push(await this.#put(piece));
      this.#bytes += piece.length;
      this.#progress({ parts: this.#parts.length, bytes: this.#bytes, last: part.name });
    }
    const added: Part = { ...part, bytes, sha256: whole.digest('hex'), blobs, ...(lines ? { rows } : {}) };
    this.#parts.push(added);
    return added;
  }

  /** Drops parts of a kind by name. Contents of dropped parts remain without a reference. */
  drop(isDropped: (part: Part) => boolean): void {
    this.#parts = this.#parts.filter((part) => !isDropped(part));
  }

  async finish(
    about: Omit<Manifest, 'format' | 'parts'>,
  ): Promise<{ readonly location: string; readonly bytes: number; readonly manifest: Manifest }> {
    const manifest: Manifest = { format: FORMAT, ...about, parts: this.#parts };
    const text = Buffer.from(JSON.stringify(manifest));
    const encoded = await this.#codec.encode(text);
    return { ...(await this.#sink.finish(this.#codec.idOf(text), encoded)), manifest };
  }

  async #put(content: Uint8Array): Promise<string> {
    const id = this.#codec.idOf(content);
    if (this.#sink.has(id)) return id;
    const encoded = await this.#codec.encode(content);
    await this.#sink.put(id, encoded);
    this.#sentBytes += encoded.length;
    return id;
  }
}

/** Regroups chunks into pieces of the maximum content size. */
async function* pieces(content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of content) {
    for (let at = 0; at < chunk.length;) {
      const part = chunk.subarray(at, at + BLOB_BYTES_MAX - size);
      chunks.push(part);
      size += part.length;
      at += part.length;
      if (size < BLOB_BYTES_MAX) continue;
      yield chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      chunks = [];
      size = 0;
    }
  }
  if (size > 0) yield chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

function newlines(piece: Uint8Array): number {
  let count = 0;
  for (let at = piece.indexOf(0x0a); at >= 0; at = piece.indexOf(0x0a, at + 1)) count++;
  return count;
}
