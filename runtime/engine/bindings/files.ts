// The host half of the file binding: an object store per resource, with conditions, ranges, folders by delimiter and
// multipart uploads (docs/files.md; shapes as in R2). Arguments are validated here; the stores are
// runtime/stores/files-*.
import type { Readable } from 'node:stream';
import { freeBuffer } from '#core/free-buffers.ts';
import { fixedLimits } from '#core/limits.ts';
import type { HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';
import { fromCursor, invalid, toCursor, toName, toRecord, toWhole } from './arguments.ts';
import type { BindingScope } from './scope.ts';
import { receiveBody, sendBody } from './streamed-body.ts';

/** One file resource. */
export interface FilePlace {
  readonly namespace: string;
  readonly resource: string;
}

/** Header fields stored with a file and returned with it. */
export interface FileHeaders {
  readonly contentType?: string;
  readonly contentLanguage?: string;
  readonly contentDisposition?: string;
  readonly contentEncoding?: string;
  readonly cacheControl?: string;
}

/** Hex digests of a file's bytes, by name of the algorithm. */
export type FileDigests = Readonly<Partial<Record<keyof typeof digestChars, string>>>;

/** Metadata of a file. */
export interface FileHead {
  readonly key: string;
  readonly size: number;
  /** Strong, without quotes. */
  readonly etag: string;
  /** Changes with every write. */
  readonly version: string;
  /** ms since 1970. */
  readonly uploadedAt: number;
  readonly headers: FileHeaders;
  readonly metadata: Readonly<Record<string, string>>;
  /** Digests that the worker gave when it wrote the file; if the file was written in one piece, MD5 is its etag. */
  readonly digests: FileDigests;
}

/** Preconditions on the existing file; times in ms since 1970. */
export interface FileCondition {
  readonly etagMatches?: readonly string[];
  readonly etagDoesNotMatch?: readonly string[];
  readonly uploadedBefore?: number;
  readonly uploadedAfter?: number;
}

/** A part of a file: from an offset, or its last bytes. */
export type FileRange = { readonly offset: number; readonly length?: number } | { readonly suffix: number };

/** Options of a write. Hex digests are checked against the received bytes. */
export interface FileWrite {
  readonly headers: FileHeaders;
  readonly metadata: Readonly<Record<string, string>>;
  readonly onlyIf: FileCondition | null;
  readonly digests: FileDigests;
  readonly bytesMax: number;
}

/** A page of files. Keys that `delimiter` groups are one entry. */
export interface FilePage {
  readonly files: readonly FileHead[];
  readonly prefixes: readonly string[];
  /** Position after this page; null at the end. */
  readonly cursor: string | null;
}

/** Content of a file as a stream. */
export interface FileBody extends Readable {
  /** Reads all bytes; used instead of the stream. The bytes belong to the caller. */
  whole?(): Promise<Uint8Array>;
}

/** Stores files. Keys are sorted by bytes; writes are durable and atomic. */
export interface FileStore {
  /**
   * @returns null when `onlyIf` does not hold. @throws {PlatformError} `invalid_argument` for a digest that differs
   * or too many bytes.
   */
  put(place: FilePlace, key: string, body: Readable | Uint8Array, write: FileWrite): Promise<FileHead | null>;
  head(place: FilePlace, key: string): Promise<FileHead | null>;
  /** `body` is null if the condition does not hold. `range` is the returned range, in bytes. */
  get(
    place: FilePlace,
    key: string,
    options: { readonly range: FileRange | null; readonly onlyIf: FileCondition | null },
  ): Promise<{
    readonly head: FileHead;
    readonly range: { offset: number; length: number };
    readonly body: FileBody | null;
  } | null>;
  delete(place: FilePlace, keys: readonly string[]): Promise<void>;
  list(
    place: FilePlace,
    page: {
      readonly prefix: string;
      readonly delimiter: string;
      readonly cursor: string | null;
      readonly limit: number;
    },
  ): Promise<FilePage>;
  createUpload(place: FilePlace, key: string, write: Pick<FileWrite, 'headers' | 'metadata'>): Promise<string>;
  putPart(
    place: FilePlace,
    key: string,
    upload: string,
    part: number,
    body: Readable | Uint8Array,
    bytesMax: number,
  ): Promise<{ etag: string }>;
  completeUpload(
    place: FilePlace,
    key: string,
    upload: string,
    parts: readonly { part: number; etag: string }[],
  ): Promise<FileHead>;
  abortUpload(place: FilePlace, key: string, upload: string): Promise<void>;
  /** Deletes all files of a resource, and unfinished uploads if the store keeps them itself. */
  clear(place: FilePlace): Promise<number>;
  /** The resources of a namespace that have files or uploads, including those of previews. */
  resources(namespace: string): Promise<readonly string[]>;
}

/** Number of hex digits of each supported digest. */
const digestChars = { md5: 32, sha1: 40, sha256: 64, sha384: 96, sha512: 128 } as const;

/** Creates a URL that lets anyone read or write one file for a limited time. */
export type SignUrl = (
  place: FilePlace,
  key: string,
  options: { readonly method: 'GET' | 'PUT'; readonly expiresInSeconds: number; readonly sizeMax: number | null },
) => string;

/**
 * The calls of a deployment's file bindings. Each takes `{binding, ...}`; a body is a part, or a stream whose id is
 * under `stream`.
 */
export function createFileCalls(
  scope: BindingScope,
  store: FileStore,
  signUrl: ((host: string | null) => SignUrl) | null,
): Readonly<Record<string, HostFunction>> {
  const parse = (call: HostCall): { place: FilePlace; args: Readonly<Record<string, unknown>>; key: string } => {
    const args = toRecord(call.args);
    call.owner.countSubrequest();
    const place = { namespace: scope.namespace, resource: scope.resource(args['binding']) };
    return { place, args, key: args['key'] === undefined ? '' : toKey(args['key']) };
  };
  const bodyOf = (call: HostCall, { stream }: Readonly<Record<string, unknown>>): Readable | Uint8Array => {
    if (Number.isSafeInteger(stream))
      return receiveBody(call, stream as number, (reason) => invalid(`The body failed: ${reason}`));
    const [part] = call.parts;
    if (part === undefined) throw invalid('put takes a value');
    return typeof part === 'string' ? Buffer.from(part) : part;
  };
  /** The stream is cancelled, because the body is no longer needed. */
  const done = (body: Readable | Uint8Array): void =>
    void (body instanceof Uint8Array ? freeBuffer(body) : body.destroy());
  let wholeBytes = 0;

  return {
    /** Returns the metadata of a file, or null. */
    async 'files.put'(call) {
      const body = bodyOf(call, toRecord(call.args));
      try {
        const { place, args, key } = parse(call);
        return { value: await store.put(place, toKey(key), body, toWrite(args)) };
      } finally {
        done(body);
      }
    },
    async 'files.head'(call) {
      const { place, key } = parse(call);
      return { value: await store.head(place, toKey(key)) };
    },
    /** Takes `{range, onlyIf, whole}`; returns `{head, range, stream | null}`. A small body is a part. */
    async 'files.get'(call): Promise<HostReply> {
      const { place, args, key } = parse(call);
      const found = await store.get(place, toKey(key), {
        range: toRange(args['range']),
        onlyIf: toCondition(args['onlyIf']),
      });
      if (found === null) return { value: null };
      const { head, range, body } = found;
      if (body === null) return { value: { head, range, stream: null } };
      if (
        range.length > WHOLE_BYTES_MAX ||
        wholeBytes + range.length > WHOLE_BYTES_AT_ONCE_MAX ||
        !call.isolate.hasRoom(range.length)
      )
        return { value: { head, range, stream: sendBody(call, body, 'The file cannot be read') } };
      wholeBytes += range.length;
      call.isolate.memory.add(range.length);
      try {
        return { value: { head, range, stream: null }, parts: [await wholeOf(body)], transfer: true };
      } finally {
        wholeBytes -= range.length;
        call.isolate.memory.release(range.length);
      }
    },
    async 'files.delete'(call) {
      const { place, args } = parse(call);
      const { keys } = args;
      if (!Array.isArray(keys) || keys.length > fixedLimits.files.deleteMax)
        throw invalid(`delete takes at most ${fixedLimits.files.deleteMax} keys`);
      await store.delete(place, keys.map(toKey));
      return {};
    },
    async 'files.list'(call) {
      const { place, args } = parse(call);
      const text = (value: unknown, what: string): string =>
        value === undefined || value === null || value === '' ? '' : toName(value, what, fixedLimits.files.keyBytesMax);
      const after = text(args['startAfter'], 'startAfter');
      const page = await store.list(place, {
        prefix: text(args['prefix'], 'The prefix'),
        delimiter: text(args['delimiter'], 'The delimiter'),
        cursor: fromCursor(args['cursor']) ?? (after === '' ? null : after),
        limit: toWhole(args['limit'], 'limit', {
          least: 1,
          most: fixedLimits.files.pageMax,
          otherwise: fixedLimits.files.pageMax,
        }),
      });
      return { value: { ...page, cursor: page.cursor === null ? null : toCursor(page.cursor) } };
    },
    async 'files.createUpload'(call) {
      const { place, args, key } = parse(call);
      const { headers, metadata } = toWrite(args);
      return { value: await store.createUpload(place, toKey(key), { headers, metadata }) };
    },
    /** Takes `{upload, part}` and a body; returns `{etag}`. */
    async 'files.putPart'(call) {
      const body = bodyOf(call, toRecord(call.args));
      try {
        const { place, args, key } = parse(call);
        const part = toPart(args['part']);
        return {
          value: await store.putPart(
            place,
            toKey(key),
            toUpload(args['upload']),
            part,
            body,
            fixedLimits.files.putBytesMax,
          ),
        };
      } finally {
        done(body);
      }
    },
    /** Takes `{upload, parts: {part, etag}[]}`; returns the metadata of the file. */
    async 'files.completeUpload'(call) {
      const { place, args, key } = parse(call);
      const { parts } = args;
      if (!Array.isArray(parts) || parts.length === 0 || parts.length > fixedLimits.files.partsMax)
        throw invalid(`An upload has 1 to ${fixedLimits.files.partsMax} parts`);
      const named = parts.map((given: unknown) => {
        const { part, etag } = toRecord(given);
        return { part: toPart(part), etag: toName(etag, 'The etag of a part', 128) };
      });
      if (named.some(({ part }, index) => index > 0 && part <= (named[index - 1] as { part: number }).part))
        throw invalid('The parts of an upload must be in ascending order');
      return { value: await store.completeUpload(place, toKey(key), toUpload(args['upload']), named) };
    },
    async 'files.abortUpload'(call) {
      const { place, args, key } = parse(call);
      await store.abortUpload(place, toKey(key), toUpload(args['upload']));
      return {};
    },
    /** Takes `{method, expiresInSeconds, sizeMax}`; returns the URL. */
    'files.sign': (call) => {
      const { place, args, key } = parse(call);
      if (signUrl === null) throw invalid('Signed addresses are not available on this handler');
      const { method } = args;
      if (method !== undefined && method !== 'GET' && method !== 'PUT')
        throw invalid('The method of a signed address must be GET or PUT');
      const expiresInSeconds = toWhole(args['expiresInSeconds'], 'expiresInSeconds', {
        least: 1,
        most: 604_800,
        otherwise: 3600,
      });
      const sizeMax =
        args['sizeMax'] === undefined
          ? null
          : toWhole(args['sizeMax'], 'sizeMax', { least: 0, most: fixedLimits.files.putBytesMax });
      return {
        value: signUrl(call.owner.host())(place, toKey(key), { method: method ?? 'GET', expiresInSeconds, sizeMax }),
      };
    },
  };
}

/** Bodies up to this size are returned together with the metadata, in one entry and without a copy. */
const WHOLE_BYTES_MAX = 1024 * 1024;
/** How many such bodies of a deployment may be read at the same time; further bodies are streamed. */
const WHOLE_BYTES_AT_ONCE_MAX = 16 * 1024 * 1024;

async function wholeOf(body: FileBody): Promise<Uint8Array> {
  if (body.whole !== undefined) return body.whole();
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk as Uint8Array);
  return new Uint8Array(Buffer.concat(chunks));
}

const toKey = (value: unknown): string => toName(value, 'The key', fixedLimits.files.keyBytesMax);
const toPart = (value: unknown): number =>
  toWhole(value, 'The number of a part', { least: 1, most: fixedLimits.files.partsMax });

function toUpload(value: unknown): string {
  const upload = toName(value, 'The upload id', 1024);
  if (!/^[\w.~-]+$/.test(upload)) throw invalid('The upload id is not valid');
  return upload;
}

const headerNames = [
  'contentType',
  'contentLanguage',
  'contentDisposition',
  'contentEncoding',
  'cacheControl',
] as const;

function toWrite(args: Readonly<Record<string, unknown>>): FileWrite {
  const headers: Record<string, string> = {};
  const given = args['headers'] === undefined ? {} : toRecord(args['headers']);
  for (const name of headerNames) {
    const value = given[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string' || value.length > 1024 || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw invalid(`${name} must be a header value of at most 1024 characters`);
    headers[name] = value;
  }
  const metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(args['metadata'] === undefined ? {} : toRecord(args['metadata']))) {
    if (typeof value !== 'string') throw invalid(`The metadata "${name.slice(0, 100)}" must be a string`);
    metadata[name] = value;
  }
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  if (bytes > fixedLimits.files.metadataBytesMax)
    throw invalid(`The metadata has ${bytes} bytes as JSON, and may have ${fixedLimits.files.metadataBytesMax}`);
  const digests: Record<string, string> = {};
  for (const [name, length] of Object.entries(digestChars)) {
    const value = args[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string' || value.length !== length || !/^[0-9a-f]+$/i.test(value))
      throw invalid(`${name} must have ${length} hex digits`);
    digests[name] = value.toLowerCase();
  }
  return { headers, metadata, onlyIf: toCondition(args['onlyIf']), digests, bytesMax: fixedLimits.files.putBytesMax };
}

function toCondition(value: unknown): FileCondition | null {
  if (value === undefined || value === null) return null;
  const given = toRecord(value);
  const condition: Record<string, unknown> = {};
  for (const name of ['etagMatches', 'etagDoesNotMatch']) {
    if (given[name] === undefined || given[name] === null) continue;
    const tags: readonly unknown[] = Array.isArray(given[name]) ? given[name] : [given[name]];
    condition[name] = tags.map((tag) =>
      toName(tag, name, 256)
        .replace(/^W\//, '')
        .replace(/^"(.*)"$/, '$1'),
    );
  }
  for (const name of ['uploadedBefore', 'uploadedAfter']) {
    if (given[name] === undefined || given[name] === null) continue;
    condition[name] = toWhole(given[name], name, { least: 0, most: 8_640_000_000_000_000 });
  }
  return condition as FileCondition;
}

function toRange(value: unknown): FileRange | null {
  if (value === undefined || value === null) return null;
  const { offset, length, suffix } = toRecord(value);
  const bound = { least: 0, most: Number.MAX_SAFE_INTEGER };
  if (suffix !== undefined) return { suffix: toWhole(suffix, 'range.suffix', bound) };
  const from = toWhole(offset, 'range.offset', { ...bound, otherwise: 0 });
  return length === undefined
    ? { offset: from }
    : { offset: from, length: toWhole(length, 'range.length', { ...bound, least: 1 }) };
}
