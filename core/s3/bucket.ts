// Requests to a bucket of S3-compatible storage: signed, with the hash of their bytes, and retried if the storage
// fails. Also parses the documents and errors of the storage. Used for files of projects, artifacts and backups;
// independent of their content.
import { createHash } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { AwsV4Signer } from 'aws4fetch';
import type { Agent, fetch, Response } from 'undici';
import { PlatformError } from '../errors.ts';
import { childText, readXml, type XmlElement } from './xml.ts';

/** A bucket, and a key with read and write access. */
export interface BucketOptions {
  /** For example `https://s3.eu-central-1.amazonaws.com`. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const ATTEMPTS_MAX = 3;
const STALL_MS_MAX = 300_000;
/** A list has at most 1,000 keys of 1,024 bytes; encoded, they are three times as long, which is less than 4 MB. */
const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024;

/** A file as the body of a request, streamed and with a signed hash. */
interface FileBody {
  readonly path: string;
  /** SHA-256, hex. */
  readonly sha256: string;
}

/** One request. */
interface BucketRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'HEAD';
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** In place of `body`. */
  readonly file?: FileBody;
  /** Aborts the request and its response. */
  readonly signal?: AbortSignal;
}

/** A bucket. */
export interface Bucket {
  /** @throws {PlatformError} `binding_unavailable` when there is no response. */
  send(request: BucketRequest): Promise<Response>;
  /** A successful response. @throws {PlatformError} as for {@link refusal}. */
  expect(request: BucketRequest): Promise<Response>;
  /** The document of a successful response. @throws {PlatformError} also without one. */
  read(request: BucketRequest): Promise<XmlElement>;
  close(): Promise<void>;
}

/**
 * Opens the bucket; sends no request before the first call.
 *
 * @param stallMsMax how long a connection, a response and each piece of it may take; by default five minutes.
 */
export function openBucket(options: BucketOptions, stallMsMax = STALL_MS_MAX): Bucket {
  const base = `${options.endpoint.replace(/\/+$/, '')}/${options.bucket}`;
  let client: Promise<Client> | null = null;
  /**
   * The HTTP client is loaded with the first request, because it has 100 modules, and most installations have no
   * bucket.
   */
  const open = async (): Promise<Client> => {
    const { Agent, fetch } = await import('undici');
    return { fetch, agent: new Agent({ connections: 64, headersTimeout: stallMsMax, bodyTimeout: stallMsMax }) };
  };

  async function send({ method, key, query = {}, headers = {}, body, file, signal }: BucketRequest): Promise<Response> {
    const url = new URL(key === undefined ? `${base}/` : `${base}/${key.split('/').map(encodeSegment).join('/')}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const hash =
      file?.sha256 ??
      createHash('sha256')
        .update(body ?? '')
        .digest('hex');
    const { fetch, agent } = await (client ??= open());
    for (let attempt = 1; ; attempt++) {
      const signed = await new AwsV4Signer({
        ...options,
        service: 's3',
        method,
        url: url.href,
        headers: { ...headers, 'x-amz-content-sha256': hash },
      }).sign();
      const sent = file === undefined ? (body as Uint8Array<ArrayBuffer> | undefined) : await openAsBlob(file.path);
      try {
        const response = await fetch(signed.url, {
          method,
          headers: [...signed.headers],
          ...(sent === undefined ? {} : { body: sent }),
          ...(signal !== undefined && { signal }),
          dispatcher: agent,
        });
        if (response.status < 500 || attempt === ATTEMPTS_MAX) return response;
        await response.body?.cancel();
      } catch (error) {
        if (attempt === ATTEMPTS_MAX || signal?.aborted === true) throw unavailable((error as Error).message, error);
      }
      await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt));
    }
  }

  async function expect(request: BucketRequest): Promise<Response> {
    const response = await send(request);
    if (response.ok) return response;
    throw await refused(response);
  }

  async function read(request: BucketRequest): Promise<XmlElement> {
    const text = await textOf(await expect(request));
    try {
      return readXml(text);
    } catch (error) {
      throw unavailable(`its document cannot be read: ${(error as Error).message}`, error);
    }
  }

  return { send, expect, read, close: async () => (await client)?.agent.close() };
}

interface Client {
  readonly fetch: typeof fetch;
  readonly agent: Agent;
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** An etag without quotes, for comparison. */
export function unquote(etag: string | null): string {
  return (etag ?? '').replaceAll('"', '');
}

/** The error of a failed response, from its document. */
export async function refused(response: Response): Promise<PlatformError> {
  const text = await textOf(response);
  let document: XmlElement | null = null;
  try {
    document = readXml(text);
  } catch {
    // The body is empty, or a page of a proxy: the status is sufficient.
  }
  return refusal(response.status, document);
}

/** The error of a failed response. The document of the response determines the code of the error. */
export function refusal(status: number, document: XmlElement | null): PlatformError {
  const [code = '', message = ''] =
    document === null ? [] : [childText(document, 'Code'), childText(document, 'Message')];
  if (['NoSuchUpload', 'InvalidPart', 'InvalidPartOrder', 'EntityTooSmall'].includes(code))
    return new PlatformError('invalid_argument', { reason: `${message || code}`, status });
  return new PlatformError('binding_unavailable', {
    kind: 'fs',
    reason: `the storage answers ${status} ${code}`.trim(),
    status,
  });
}

/** The text of a document, limited to a reasonable size. */
async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > DOCUMENT_BYTES_MAX) throw new Error(`its document has more than ${DOCUMENT_BYTES_MAX} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw unavailable((error as Error).message, error);
  }
  return Buffer.concat(chunks).toString();
}

/** The storage misbehaves. */
export function unavailable(reason: string, cause?: unknown): PlatformError {
  return new PlatformError('binding_unavailable', { kind: 'fs', reason: `the storage fails: ${reason}` }, { cause });
}
