// Blob and File. The bytes are in the isolate's memory, copied once when the object is created; slices share them.
import { createByteStream, type ReadableStream } from './streams.ts';
import { decodeBody, isAnyArrayBuffer, toBytes } from './text.ts';
import { encodeUtf8 } from './utf8.ts';
import {
  finishInterface,
  internal,
  requireArguments,
  toDictionary,
  toDomString,
  toEnumeration,
  toUsvString,
} from './webidl.ts';

/** The bytes of a blob, shared with it: copy them before changing or transferring them. */
export let blobBytes: (blob: Blob) => Uint8Array;
export let isBlob: (value: unknown) => value is Blob;
export let isFile: (value: unknown) => value is File;
/** Creates a blob from bytes that no other code changes. */
export let createBlob: (bytes: Uint8Array, type: string) => Blob;

function normalType(type: string): string {
  return /^[\x20-\x7e]*$/.test(type) ? type.toLowerCase() : '';
}

function clampIndex(value: unknown, size: number): number {
  const number = Number(value);
  // [Clamp] rounds to the nearest integer, ties to even.
  let index = Number.isNaN(number) ? 0 : Math.round(number);
  if (index - number === 0.5 && index % 2 !== 0) index--;
  return index < 0 ? Math.max(size + index, 0) : Math.min(index, size);
}

const STREAM_CHUNK_BYTES = 64 * 1024;

export class Blob {
  #bytes: Uint8Array = new Uint8Array(0);
  #type = '';

  constructor(parts: unknown = undefined, options: unknown = undefined) {
    if (parts === internal) return;
    // Both arguments are converted from left to right, because a conversion can run script.
    const pieces = parts === undefined ? [] : readParts(parts);
    const { endings, type } = toDictionary(options, 'Blob options');
    const native =
      endings !== undefined && toEnumeration(endings, ['transparent', 'native'], 'The endings option') === 'native';
    this.#bytes = joinParts(pieces, native);
    if (type !== undefined) this.#type = normalType(toDomString(type));
  }

  get size(): number {
    return this.#bytes.byteLength;
  }
  get type(): string {
    return this.#type;
  }

  slice(start: unknown = 0, end: unknown = undefined, contentType: unknown = ''): Blob {
    const size = this.#bytes.byteLength;
    const from = clampIndex(start, size);
    const to = end === undefined ? size : clampIndex(end, size);
    return createBlob(this.#bytes.subarray(from, Math.max(from, to)), normalType(toDomString(contentType)));
  }

  stream(): ReadableStream<Uint8Array> {
    const bytes = this.#bytes;
    let at = 0;
    return createByteStream({
      type: 'bytes',
      pull(controller) {
        if (at < bytes.byteLength)
          controller.enqueue(bytes.slice(at, (at += STREAM_CHUNK_BYTES)) as Uint8Array<ArrayBuffer>);
        if (at < bytes.byteLength) return;
        controller.close();
        controller.byobRequest?.respond(0);
      },
    });
  }

  async text(): Promise<string> {
    return decodeBody(this.#bytes);
  }
  async arrayBuffer(): Promise<ArrayBuffer> {
    return (this.#bytes.slice() as Uint8Array<ArrayBuffer>).buffer;
  }
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#bytes.slice() as Uint8Array<ArrayBuffer>;
  }

  static {
    isBlob = (value): value is Blob => typeof value === 'object' && value !== null && #bytes in value;
    blobBytes = (blob) => blob.#bytes;
    createBlob = (bytes, type) => {
      const blob = new Blob(internal);
      blob.#bytes = bytes;
      blob.#type = type;
      return blob;
    };
  }
}
finishInterface(Blob);

export class File extends Blob {
  #name: string;
  #lastModified: number;

  constructor(parts: unknown, name: unknown, options: unknown = undefined) {
    requireArguments(arguments.length, 2, 'File');
    super(parts, options);
    this.#name = toUsvString(name);
    const { lastModified } = toDictionary(options, 'File options');
    this.#lastModified = lastModified === undefined ? Date.now() : Math.trunc(Number(lastModified)) || 0;
  }

  get name(): string {
    return this.#name;
  }
  get lastModified(): number {
    return this.#lastModified;
  }
  get webkitRelativePath(): string {
    void this.#name;
    return '';
  }

  static {
    isFile = (value): value is File => typeof value === 'object' && value !== null && #name in value;
  }
}
finishInterface(File);

type BlobPart = Blob | ArrayBuffer | ArrayBufferView | string;

function readParts(parts: unknown): BlobPart[] {
  if ((typeof parts !== 'object' && typeof parts !== 'function') || parts === null || !(Symbol.iterator in parts)) {
    throw new TypeError('The parts of a blob must be an iterable');
  }
  const pieces: BlobPart[] = [];
  for (const part of parts as Iterable<unknown>) {
    pieces.push(isBlob(part) || ArrayBuffer.isView(part) || isAnyArrayBuffer(part) ? part : toUsvString(part));
  }
  return pieces;
}

function joinParts(parts: readonly BlobPart[], nativeEndings: boolean): Uint8Array {
  let size = 0;
  const pieces = parts.map((part) => {
    const piece =
      typeof part === 'string'
        ? encodeUtf8(nativeEndings ? part.replace(/\r\n?/g, '\n') : part)
        : isBlob(part)
          ? blobBytes(part)
          : toBytes(part, 'A part');
    size += piece.byteLength;
    return piece;
  });
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
