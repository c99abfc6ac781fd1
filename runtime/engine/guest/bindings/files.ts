// The guest half of the file binding: the API of an R2 bucket, and more. lazy.ts loads this module when it is first
// used.
import type { LazyDeps } from '../lazy.ts';
import type { HostBody, HostReply } from '../host.ts';
import type { HostCallName, Part } from '../../bridge/protocol.ts';

interface Head {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
  readonly version: string;
  readonly uploadedAt: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly digests: Readonly<Record<string, string>>;
}

interface Range {
  readonly offset: number;
  readonly length: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** HTTP header -> field of a file. */
const headerFields: Readonly<Record<string, string>> = {
  'content-type': 'contentType',
  'content-language': 'contentLanguage',
  'content-disposition': 'contentDisposition',
  'content-encoding': 'contentEncoding',
  'cache-control': 'cacheControl',
};

/** Options of R2 that this platform does not support. */
const notHere: Readonly<Record<string, string>> = {
  ssecKey: 'encryption at rest is up to the storage',
  storageClass: 'there is one class, Standard',
  cacheExpiry: 'use max-age in cacheControl',
};

const digestNames = ['md5', 'sha1', 'sha256', 'sha384', 'sha512'];

export default function createFiles(deps: LazyDeps): { create(name: string): object } {
  const {
    callHost,
    startCall,
    toOptions,
    cancelPump,
    bodyToGuest,
    inPieces,
    invalidArgument,
    newStreamId,
    openPump,
    freeAfterEntry,
    takeResponse,
  } = deps;
  const { Headers, Response, createIncomingResponse, encodeUtf8, isBlob, isAnyArrayBuffer, toBytes, WHOLE_BYTES_MAX } =
    deps;

  /** @throws {TypeError} `invalid_argument`, for an option that would be ignored. */
  function refuseOthers(call: string, options: unknown, what = `The options of ${call}`): void {
    const given = toOptions(what, options as Fields);
    for (const [name, why] of Object.entries(notHere)) {
      const value = given[name];
      if (value === undefined || value === null || (name === 'storageClass' && value === 'Standard')) continue;
      throw invalidArgument(`${call} does not take ${name} here: ${why}`);
    }
  }

  const isHeaders = (value: unknown): value is InstanceType<typeof Headers> => value instanceof Headers;

  /** The value of a `put` in transferable form: a part, or a stream that is pumped while `send` runs. */
  async function withBody(
    value: unknown,
    send: (stream: number | null, parts: Part[]) => Promise<HostReply>,
  ): Promise<HostReply> {
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
      throw new TypeError('A file is a string, an ArrayBuffer, a view of one, a Blob or a ReadableStream');
    if (ArrayBuffer.isView(value) || isAnyArrayBuffer(value)) {
      // Copied now: the worker may write to it before this entry ends.
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
  async function pumped(
    body: Parameters<typeof openPump>[1],
    send: (stream: number | null, parts: Part[]) => Promise<HostReply>,
  ): Promise<HostReply> {
    const stream = newStreamId();
    openPump(stream, body, () => {});
    try {
      return await send(stream, []);
    } finally {
      // The call failed before the end of the body, so the rest is not read.
      cancelPump(stream);
    }
  }

  function headersOf(given: unknown): Record<string, string> {
    const headers: Record<string, string> = {};
    if (isHeaders(given)) {
      for (const [name, field] of Object.entries(headerFields)) {
        const value = given.get(name);
        if (value !== null) headers[field] = value;
      }
      return headers;
    }
    for (const field of Object.values(headerFields)) {
      const value = (given as Fields | null | undefined)?.[field];
      if (value !== undefined && value !== null) headers[field] = String(value);
    }
    return headers;
  }

  function conditionOf(given: unknown): Fields | undefined {
    if (given === undefined || given === null) return undefined;
    if (!isHeaders(given)) {
      const { etagMatches, etagDoesNotMatch, uploadedBefore, uploadedAfter, secondsGranularity } = toOptions(
        'onlyIf',
        given as Fields,
      );
      const [before, after] = [toMs(uploadedBefore), toMs(uploadedAfter)];
      // Compares upload times in whole seconds.
      const inSeconds = secondsGranularity === true;
      return {
        etagMatches,
        etagDoesNotMatch,
        uploadedBefore: inSeconds && typeof before === 'number' ? Math.ceil(before / 1000) * 1000 : before,
        uploadedAfter: inSeconds && typeof after === 'number' ? Math.floor(after / 1000) * 1000 + 999 : after,
      };
    }
    const tags = (name: string): string[] | undefined =>
      given
        .get(name)
        ?.split(',')
        .map((tag) => tag.trim());
    const time = (name: string): number | undefined => {
      const ms = Date.parse(given.get(name) ?? '');
      return Number.isNaN(ms) ? undefined : ms;
    };
    const since = time('if-modified-since');
    const until = time('if-unmodified-since');
    return {
      etagMatches: tags('if-match'),
      etagDoesNotMatch: tags('if-none-match'),
      // HTTP dates have whole seconds.
      uploadedAfter: since === undefined || given.has('if-none-match') ? undefined : since + 999,
      uploadedBefore: until === undefined || given.has('if-match') ? undefined : until + 1000,
    };
  }

  function rangeOf(given: unknown): Fields | undefined {
    if (given === undefined || given === null) return undefined;
    if (!isHeaders(given)) return toOptions('range', given as Fields);
    const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(given.get('range') ?? '') ?? [];
    if (from === undefined || (from === '' && to === '')) return undefined;
    if (from === '') return { suffix: Number(to) };
    return { offset: Number(from), ...(to === '' ? {} : { length: Number(to) - Number(from) + 1 }) };
  }

  function writeOf(call: string, options: Fields | null | undefined, value: unknown): Fields {
    refuseOthers(call, options);
    if (!isHeaders(options?.['httpMetadata'])) refuseOthers(call, options?.['httpMetadata'], 'httpMetadata');
    const { contentType, httpMetadata, metadata, customMetadata, onlyIf } = options ?? {};
    const implied =
      typeof value === 'string' ? 'text/plain; charset=utf-8' : isBlob(value) ? (value as { type: string }).type : '';
    const headers = headersOf(httpMetadata);
    if (contentType !== undefined) headers['contentType'] = String(contentType);
    else if (implied !== '') headers['contentType'] ??= implied;
    const digests = Object.fromEntries(digestNames.map((name) => [name, toHex(options?.[name])]));
    return { headers, metadata: metadata ?? customMetadata, onlyIf: conditionOf(onlyIf), ...digests };
  }

  /** Digests are hex or bytes. */
  function toHex(digest: unknown): unknown {
    if (digest === undefined || digest === null || typeof digest === 'string') return digest;
    const bytes = ArrayBuffer.isView(digest)
      ? new Uint8Array(digest.buffer as ArrayBuffer, digest.byteOffset, digest.byteLength)
      : new Uint8Array(digest as ArrayBuffer);
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  class StoredObject {
    readonly key: string;
    readonly size: number;
    readonly etag: string;
    readonly httpEtag: string;
    readonly version: string;
    readonly contentType: string;
    readonly uploadedAt: Date;
    readonly uploaded: Date;
    readonly metadata: Readonly<Record<string, string>>;
    readonly customMetadata: Readonly<Record<string, string>>;
    readonly httpMetadata: Readonly<Record<string, string>>;
    readonly storageClass = 'Standard';
    readonly checksums: object;

    constructor(head: Head) {
      this.key = head.key;
      this.size = head.size;
      this.etag = head.etag;
      this.httpEtag = `"${head.etag}"`;
      this.version = head.version;
      this.contentType = head.headers['contentType'] ?? 'application/octet-stream';
      this.uploadedAt = new Date(head.uploadedAt);
      this.uploaded = this.uploadedAt;
      this.metadata = head.metadata;
      this.customMetadata = head.metadata;
      this.httpMetadata = head.headers;
      this.checksums = checksumsOf({
        ...(/^[0-9a-f]{32}$/.test(head.etag) ? { md5: head.etag } : {}),
        ...head.digests,
      });
    }

    /** Sets the header fields stored with the file. */
    writeHttpMetadata(headers: InstanceType<typeof Headers>): void {
      for (const [name, field] of Object.entries(headerFields)) {
        const value = this.httpMetadata[field];
        if (value !== undefined) headers.set(name, value);
      }
    }
  }

  class StoredFile extends StoredObject {
    readonly #response: InstanceType<typeof Response>;
    readonly range: Range;

    constructor(head: Head, range: Range, body: HostBody | Part) {
      super(head);
      this.range = range;
      const type = `content-type\0${this.contentType}\0`;
      this.#response = createIncomingResponse(200, '', type, body, '', false) as InstanceType<typeof Response>;
    }

    get body(): unknown {
      return this.#response.body;
    }

    get stream(): unknown {
      return this.#response.body;
    }

    get bodyUsed(): boolean {
      return this.#response.bodyUsed;
    }

    text(): Promise<string> {
      return this.#response.text();
    }

    json(): Promise<unknown> {
      return this.#response.json();
    }

    async bytes(): Promise<Uint8Array> {
      return new Uint8Array(await this.#response.arrayBuffer());
    }

    arrayBuffer(): Promise<ArrayBuffer> {
      return this.#response.arrayBuffer();
    }

    blob(): Promise<unknown> {
      return this.#response.blob();
    }
  }

  class Upload {
    readonly #binding: string;
    readonly key: string;
    readonly uploadId: string;

    constructor(binding: string, key: string, uploadId: string) {
      this.#binding = binding;
      this.key = key;
      this.uploadId = uploadId;
    }

    async #call(name: HostCallName, args: Fields, sent: readonly Part[] = []): Promise<HostReply> {
      return callHost(name, { binding: this.#binding, key: this.key, upload: this.uploadId, ...args }, sent);
    }

    async uploadPart(
      partNumber: number,
      value: unknown,
      options?: Fields | null,
    ): Promise<{ partNumber: number; etag: string }> {
      refuseOthers('uploadPart', options);
      const reply = await withBody(value, (stream, sent) =>
        this.#call('files.putPart', { part: partNumber, stream }, sent),
      );
      return { partNumber, ...(reply.value as { etag: string }) };
    }

    async complete(uploaded: readonly { partNumber: number; etag: string }[]): Promise<object> {
      if (!Array.isArray(uploaded) || uploaded.some((part) => typeof part !== 'object' || part === null))
        throw invalidArgument('complete takes the list of parts that uploadPart gave: [{ partNumber, etag }, ...]');
      const named = Array.from(uploaded, ({ partNumber, etag }) => ({ part: partNumber, etag }));
      return new StoredObject((await this.#call('files.completeUpload', { parts: named })).value as Head);
    }

    async abort(): Promise<void> {
      await this.#call('files.abortUpload', {});
    }
  }

  class Files {
    readonly #binding: string;

    constructor(binding: string) {
      this.#binding = binding;
    }

    async put(key: unknown, value: unknown, options?: Fields | null): Promise<object | null> {
      const write = writeOf('put', options, value);
      const reply = await withBody(value, (stream, sent) =>
        callHost('files.put', { binding: this.#binding, key, ...write, stream }, sent),
      );
      return reply.value === null ? null : new StoredObject(reply.value as Head);
    }

    async get(key: unknown, options?: Fields | null): Promise<object | null> {
      refuseOthers('get', options);
      let incoming: HostBody | null = null;
      const args = {
        binding: this.#binding,
        key,
        range: rangeOf(options?.['range']),
        onlyIf: conditionOf(options?.['onlyIf']),
      };
      // The first chunks may come in the same entry as the head: open their stream before the entry reads further.
      const call = startCall('files.get', args, [], (reply, owner) => {
        const stream = (reply.value as { stream: number | null } | null)?.stream ?? null;
        if (stream !== null) incoming = bodyToGuest(stream, owner, true);
      });
      const { value, parts: sent } = await call.reply;
      if (value === null) return null;
      const { head, range } = value as { head: Head; range: Range };
      const body = incoming ?? sent[0];
      if (body === undefined)
        return options?.['onlyIf'] === undefined ? new StoredFile(head, range, '') : new StoredObject(head);
      return new StoredFile(head, range, body);
    }

    async head(key: unknown): Promise<object | null> {
      const { value } = await callHost('files.head', { binding: this.#binding, key });
      return value === null ? null : new StoredObject(value as Head);
    }

    async delete(keys: unknown): Promise<void> {
      await callHost('files.delete', { binding: this.#binding, keys: Array.isArray(keys) ? keys : [keys] });
    }

    async list(options?: Fields | null): Promise<object> {
      const { prefix, delimiter, limit, cursor, startAfter } = toOptions<Fields>('The options of list', options);
      const asked = { binding: this.#binding, prefix, delimiter, limit, cursor, startAfter };
      const { value } = await callHost('files.list', asked);
      const page = value as { files: Head[]; prefixes: string[]; cursor: string | null };
      const objects = page.files.map((head) => new StoredObject(head));
      const more = page.cursor === null ? { truncated: false, cursor: null } : { truncated: true, cursor: page.cursor };
      return { keys: objects, objects, ...more, delimitedPrefixes: page.prefixes };
    }

    async createMultipartUpload(key: string, options?: Fields | null): Promise<Upload> {
      const { headers, metadata } = writeOf('createMultipartUpload', options, undefined);
      const { value } = await callHost('files.createUpload', { binding: this.#binding, key, headers, metadata });
      return new Upload(this.#binding, key, value as string);
    }

    resumeMultipartUpload(key: string, uploadId: string): Upload {
      return new Upload(this.#binding, key, uploadId);
    }

    async createSignedUrl(key: unknown, options?: Fields | null): Promise<string> {
      const { method, expiresInSeconds, sizeMax } = toOptions<Fields>('The options of createSignedUrl', options);
      return (await callHost('files.sign', { binding: this.#binding, key, method, expiresInSeconds, sizeMax }))
        .value as string;
    }
  }

  return { create: (name) => new Files(name) };
}

/** Digests as bytes; their JSON has hex digits. */
function checksumsOf(digests: Readonly<Record<string, string>>): object {
  const checksums: Record<string, unknown> = { toJSON: () => ({ ...digests }) };
  for (const [name, hex] of Object.entries(digests))
    checksums[name] = Uint8Array.from(hex.match(/../g) as string[], (pair) => Number.parseInt(pair, 16)).buffer;
  return checksums;
}

function toMs(time: unknown): unknown {
  return time instanceof Date ? time.getTime() : time;
}
