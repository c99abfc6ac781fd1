// Requests to a bucket of S3-compatible storage: signed, with the hash of their bytes, tried again where storage fails;
// its documents and its errors. Used by files-s3.ts; knows nothing of files.
import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import { Agent, fetch, type Response } from 'undici';
import { PlatformError } from '#core/errors.ts';

/** A bucket, and a key that may read and write it. */
export interface BucketOptions {
  /** Such as `https://s3.eu-central-1.amazonaws.com`. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const attemptsMax = 3;

/** One request. */
interface BucketRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'HEAD';
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** A bucket to ask. */
interface Bucket {
  /** @throws {PlatformError} `binding_unavailable` when there is no answer. */
  send(request: BucketRequest): Promise<Response>;
  /** An answer that must be a success. @throws {PlatformError} as {@link refusal} says. */
  expect(request: BucketRequest): Promise<Response>;
  close(): Promise<void>;
}

/** Opens the bucket; nothing is asked of it before the first call. */
export function openBucket(options: BucketOptions): Bucket {
  const base = `${options.endpoint.replace(/\/+$/, '')}/${options.bucket}`;
  const agent = new Agent({ connections: 64 });

  async function send({ method, key, query = {}, headers = {}, body }: BucketRequest): Promise<Response> {
    const url = new URL(key === undefined ? `${base}/` : `${base}/${key.split('/').map(encodeSegment).join('/')}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const hash = createHash('sha256')
      .update(body ?? '')
      .digest('hex');
    for (let attempt = 1; ; attempt++) {
      const signed = await new AwsV4Signer({
        ...options,
        service: 's3',
        method,
        url: url.href,
        headers: { ...headers, 'x-amz-content-sha256': hash },
        ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
      }).sign();
      try {
        const response = await fetch(signed.url, {
          method,
          headers: [...signed.headers],
          ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
          dispatcher: agent,
        });
        if (response.status < 500 || attempt === attemptsMax) return response;
        await response.body?.cancel();
      } catch (error) {
        if (attempt === attemptsMax) throw unavailable((error as Error).message, error);
      }
      await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt));
    }
  }

  async function expect(request: BucketRequest): Promise<Response> {
    const response = await send(request);
    if (response.ok) return response;
    throw refusal(response.status, await response.text());
  }

  return { send, expect, close: () => agent.close() };
}

/** Contents of all elements of a name, in a document of storage. */
export function contentOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, 'g'))].map(([, content]) =>
    (content as string).includes('<') ? (content as string) : unescapeXml(content as string),
  );
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescapeXml(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (all, hex?: string, decimal?: string, name?: string) =>
    name === undefined
      ? String.fromCodePoint(Number.parseInt(hex ?? decimal ?? '', hex === undefined ? 10 : 16))
      : (entities[name] ?? all),
  );
}

/** Text in a document for storage. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** An etag as it is compared. */
export function unquote(etag: string | null): string {
  return (etag ?? '').replaceAll('"', '').replaceAll('&quot;', '');
}

/** An answer that is no success. */
export function refusal(status: number, text: string): PlatformError {
  const code = contentOf(text, 'Code')[0] ?? '';
  const message = contentOf(text, 'Message')[0] ?? '';
  if (['NoSuchUpload', 'InvalidPart', 'InvalidPartOrder', 'EntityTooSmall'].includes(code))
    return new PlatformError('invalid_argument', { reason: `${message || code}`, status });
  return new PlatformError('binding_unavailable', {
    kind: 'fs',
    reason: `the storage answers ${status} ${code}`.trim(),
    status,
  });
}

/** Storage that does not do what it should. */
export function unavailable(reason: string, cause?: unknown): PlatformError {
  return new PlatformError('binding_unavailable', { kind: 'fs', reason: `the storage fails: ${reason}` }, { cause });
}
