// A stored file as workers get it: its metadata, with or without the body.
import type { HostBody } from '../../host.ts';
import type { Part } from '../../../bridge/protocol.ts';
import type { Headers } from '../../web/headers.ts';
import { createIncomingResponse, type Response } from '../../web/response.ts';

export interface Head {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
  readonly version: string;
  readonly uploadedAt: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly digests: Readonly<Record<string, string>>;
}

export interface Range {
  readonly offset: number;
  readonly length: number;
}

/** HTTP headers, with the fields of a file that contain their values. */
export const headerFields: Readonly<Record<string, string>> = {
  'content-type': 'contentType',
  'content-language': 'contentLanguage',
  'content-disposition': 'contentDisposition',
  'content-encoding': 'contentEncoding',
  'cache-control': 'cacheControl',
};

export class StoredObject {
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

  /** Sets the headers that are stored with the file. */
  writeHttpMetadata(headers: Headers): void {
    for (const [name, field] of Object.entries(headerFields)) {
      const value = this.httpMetadata[field];
      if (value !== undefined) headers.set(name, value);
    }
  }
}

export class StoredFile extends StoredObject {
  readonly #response: Response;
  readonly range: Range;

  constructor(head: Head, range: Range, body: HostBody | Part) {
    super(head);
    this.range = range;
    const type = `content-type\0${this.contentType}\0`;
    this.#response = createIncomingResponse(200, '', type, body, '', false) as Response;
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

/** Digests as bytes; converted to JSON, they are hex digits. */
function checksumsOf(digests: Readonly<Record<string, string>>): object {
  const checksums: Record<string, unknown> = { toJSON: () => ({ ...digests }) };
  for (const [name, hex] of Object.entries(digests))
    checksums[name] = Uint8Array.from(hex.match(/../g) as string[], (pair) => Number.parseInt(pair, 16)).buffer;
  return checksums;
}
