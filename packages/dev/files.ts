// `env.<NAME>` of file storage, in Node: contents are the bodies of requests and responses. Made by env.ts.
import type { Connection } from './connection.ts';

type Fields = Readonly<Record<string, unknown>>;

/** HTTP header -> field of a file. */
const headerFields: Readonly<Record<string, string>> = {
  'content-type': 'contentType',
  'content-language': 'contentLanguage',
  'content-disposition': 'contentDisposition',
  'content-encoding': 'contentEncoding',
  'cache-control': 'cacheControl',
};

class FileHead {
  declare readonly httpMetadata: Readonly<Record<string, string>>;
  declare readonly contentType: string;

  constructor(fields: Fields) {
    Object.assign(this, fields, { checksums: checksumsOf(fields['checksums'] as Record<string, ArrayBuffer>) });
  }

  /** Sets the header fields stored with the file. */
  writeHttpMetadata(headers: Headers): void {
    for (const [name, field] of Object.entries(headerFields)) {
      const value = this.httpMetadata[field];
      if (value !== undefined) headers.set(name, value);
    }
  }
}

class StoredFile extends FileHead {
  readonly #response: Response;

  constructor({ body, ...fields }: Fields) {
    super(fields);
    const headers = { 'content-type': this.contentType };
    this.#response = new Response(body as ReadableStream | null, { headers });
  }

  get body(): ReadableStream | null {
    return this.#response.body;
  }

  get stream(): ReadableStream | null {
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

  blob(): Promise<Blob> {
    return this.#response.blob();
  }
}

/** Creates a file from its fields. */
export function toFile(fields: Fields): object {
  return 'body' in fields ? new StoredFile(fields) : new FileHead(fields);
}

/** A value in the form in which it is sent, and its type if it is a Blob. */
function contentOf(value: unknown): { readonly content: unknown; readonly type: string } {
  if (!(value instanceof Blob)) return { content: value, type: '' };
  return { content: value.stream(), type: value.type };
}

class Upload {
  readonly #files: Files;
  readonly key: string;
  readonly uploadId: string;

  constructor(files: Files, key: string, uploadId: string) {
    this.#files = files;
    this.key = key;
    this.uploadId = uploadId;
  }

  uploadPart(partNumber: number, value: unknown): Promise<unknown> {
    return this.#files.onUpload(this, 'uploadPart', partNumber, contentOf(value).content);
  }

  complete(parts: unknown): Promise<unknown> {
    return this.#files.onUpload(this, 'complete', parts);
  }

  async abort(): Promise<void> {
    await this.#files.onUpload(this, 'abort');
  }
}

export class Files {
  readonly #name: string;
  readonly #connection: Connection;

  constructor(connection: Connection, name: string) {
    this.#connection = connection;
    this.#name = name;
  }

  async #call(method: string, ...args: readonly unknown[]): Promise<unknown> {
    return (await this.#connection.call(this.#name, { method, args })).result;
  }

  put(key: unknown, value: unknown, options?: Fields | null): Promise<unknown> {
    const { content, type } = contentOf(value);
    const { contentType, httpMetadata } = options ?? {};
    const stored =
      httpMetadata instanceof Headers
        ? httpMetadata.get('content-type')
        : (httpMetadata as Fields | null | undefined)?.['contentType'];
    const implied = type !== '' && contentType === undefined && stored == null ? { contentType: type } : {};
    return this.#call('put', key, content, ...(options == null && type === '' ? [] : [{ ...options, ...implied }]));
  }

  get(key: unknown, ...options: readonly unknown[]): Promise<unknown> {
    return this.#call('get', key, ...options);
  }

  head(key: unknown): Promise<unknown> {
    return this.#call('head', key);
  }

  async delete(keys: unknown): Promise<void> {
    await this.#call('delete', keys);
  }

  async list(...options: readonly unknown[]): Promise<unknown> {
    const page = (await this.#call('list', ...options)) as { objects: unknown };
    return { keys: page.objects, ...page };
  }

  async createMultipartUpload(key: string, ...options: readonly unknown[]): Promise<Upload> {
    const made = (await this.#call('createMultipartUpload', key, ...options)) as { uploadId: string };
    return new Upload(this, key, made.uploadId);
  }

  resumeMultipartUpload(key: string, uploadId: string): Upload {
    return new Upload(this, key, uploadId);
  }

  createSignedUrl(...args: readonly unknown[]): Promise<unknown> {
    return this.#call('createSignedUrl', ...args);
  }

  async onUpload({ key, uploadId }: Upload, method: string, ...args: readonly unknown[]): Promise<unknown> {
    const next = [{ method, args }];
    return (await this.#connection.call(this.#name, { method: 'resumeMultipartUpload', args: [key, uploadId], next }))
      .result;
  }
}

/** Digests as bytes; as JSON, they are hex digits. */
function checksumsOf(digests: Readonly<Record<string, ArrayBuffer>>): object {
  const entries = Object.entries(digests);
  const toJSON = (): object =>
    Object.fromEntries(entries.map(([name, bytes]) => [name, Buffer.from(bytes).toString('hex')]));
  return { toJSON, ...digests };
}
