// Files in a bucket of S3-compatible storage. Every request has the hash of its bytes, so that damaged data is
// refused; bodies are sent in pieces of a few megabytes, whatever their size. Keys are below
// `<namespace>/<resource>/`.
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Headers } from 'undici';
import { PlatformError } from '#core/errors.ts';
import { unlimitedStorage, type StorageGuard } from '#core/storage-left.ts';
import type { FileHead, FileHeaders, FilePage, FilePlace, FileStore, FileWrite } from '../engine/bindings/files.ts';
import { ByteBudget, type Share } from './byte-budget.ts';
import { FILE_BYTES, textBytes, textsOf } from './file-bytes.ts';
import { holds, resolveRange } from './file-conditions.ts';
import { createDigests } from './file-digests.ts';
import { openBucket, refusal, refused, unavailable, unquote, type BucketOptions } from '#core/s3/bucket.ts';
import { childText, escapeXml, type XmlElement } from '#core/s3/xml.ts';

/** A bucket, and the layout of its files. */
interface S3Options extends BucketOptions {
  /** Prefix of all keys, without leading and trailing slashes; '' for none. */
  readonly prefix: string;
  /** Memory limit for a namespace's uploads, above which all but the oldest wait. */
  readonly uploadBytesHeldMax: number;
  /** Remaining storage of organizations. */
  readonly storage?: StorageGuard;
}

/** Pieces of an upload of unknown length; S3 requires parts of at least 5 MB. */
const PIECE_BYTES = 8 * 1024 * 1024;
/** Limit of S3 for custom fields of a file. */
const METADATA_BYTES_MAX = 1800;

const HEADER_OF: Readonly<Record<keyof FileHeaders, string>> = {
  contentType: 'content-type',
  contentLanguage: 'content-language',
  contentDisposition: 'content-disposition',
  contentEncoding: 'content-encoding',
  cacheControl: 'cache-control',
};

/** Opens the bucket; sends no request before the first call. */
export function openFilesS3(options: S3Options): FileStore & {
  everything(): AsyncGenerator<FilePlace & { readonly key: string; readonly size: number }>;
  /** Bytes by namespace, by listing the whole bucket. Excludes metadata and parts of unfinished uploads. */
  kept(): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
} {
  const { storage = unlimitedStorage } = options;
  const root = options.prefix === '' ? '' : `${options.prefix}/`;
  const { send, expect, read, close } = openBucket(options);
  const budget = new ByteBudget(options.uploadBytesHeldMax);

  const keyOf = ({ namespace, resource }: FilePlace, key: string): string => {
    if (key.split('/').some((segment) => segment === '.' || segment === '..'))
      throw new PlatformError('invalid_argument', {
        reason: 'This storage does not support keys with the segments "." and ".."',
      });
    return `${root}${namespace}/${resource}/${key}`;
  };

  function fieldsOf({
    headers,
    metadata,
    digests = {},
  }: Pick<FileWrite, 'headers' | 'metadata'> & { digests?: FileWrite['digests'] }): Record<string, string> {
    const text = Buffer.from(JSON.stringify(metadata)).toString('base64url');
    const sums = Object.entries(digests).flat().join(' ');
    if (text.length + sums.length > METADATA_BYTES_MAX)
      throw new PlatformError('invalid_argument', {
        reason: `The metadata has ${text.length + sums.length} encoded bytes, the limit of this storage is ${METADATA_BYTES_MAX}`,
      });
    const fields: Record<string, string> = {
      'x-amz-meta-platform': text,
      'x-amz-meta-version': randomBytes(12).toString('hex'),
      'x-amz-meta-uploaded': String(Date.now()),
      ...(sums === '' ? {} : { 'x-amz-meta-digests': sums }),
    };
    for (const [name, header] of Object.entries(HEADER_OF)) {
      const value = headers[name as keyof FileHeaders];
      if (value !== undefined) fields[header] = value;
    }
    // S3 gives files without a type a default type.
    if (headers.contentType === undefined) fields['x-amz-meta-untyped'] = '1';
    return fields;
  }

  async function head(place: FilePlace, key: string): Promise<FileHead | null> {
    const response = await send({ method: 'HEAD', key: keyOf(place, key) });
    if (response.status === 404) return null;
    if (!response.ok) throw refusal(response.status, null);
    return toHead(key, response.headers);
  }

  async function putPiece(
    key: string,
    body: Uint8Array,
    headers: Record<string, string>,
    query: Record<string, string>,
  ): Promise<string> {
    const response = await expect({ method: 'PUT', key, body, headers, query });
    const etag = unquote(response.headers.get('etag'));
    await response.body?.cancel();
    const md5 = createHash('md5').update(body).digest('hex');
    if (/^[0-9a-f]{32}$/.test(etag) && etag !== md5)
      throw unavailable(`it stored different bytes than were sent (${etag}, not ${md5})`);
    return etag;
  }

  async function startUpload(key: string, fields: Record<string, string>): Promise<string> {
    return childText(await read({ method: 'POST', key, query: { uploads: '' }, headers: fields }), 'UploadId');
  }

  async function complete(
    key: string,
    upload: string,
    parts: readonly { part: number; etag: string }[],
    headers = {},
  ): Promise<void> {
    const list = parts
      .map(({ part, etag }) => `<Part><PartNumber>${part}</PartNumber><ETag>"${escapeXml(etag)}"</ETag></Part>`)
      .join('');
    const body = Buffer.from(`<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`);
    const document = await read({ method: 'POST', key, query: { uploadId: upload }, headers, body });
    // S3 may begin its response before it knows the result.
    if (document.name === 'Error') throw refusal(400, document);
  }

  /** Sends a body in pieces; the parts of an interrupted upload are discarded. */
  async function upload(
    { namespace }: FilePlace,
    texts: number,
    key: string,
    body: Readable | Uint8Array,
    share: Share,
    write: FileWrite,
    condition: Record<string, string>,
  ): Promise<void> {
    const fields = fieldsOf(write);
    const digests = createDigests(write.digests, false);
    let size = 0;
    let taken = 0;
    let id = '';
    const take = (bytes: number): void => {
      storage.take(namespace, bytes);
      taken += bytes;
    };
    const parts: { part: number; etag: string }[] = [];
    try {
      take(FILE_BYTES + texts);
      for await (const { bytes, isLast } of pieces(body, share)) {
        size += bytes.byteLength;
        if (size > write.bytesMax)
          throw new PlatformError('invalid_argument', { reason: `The file is larger than ${write.bytesMax} bytes` });
        take(bytes.byteLength);
        await digests.updateInTurns(bytes);
        if (isLast) digests.check();
        if (isLast && id === '') {
          await putPiece(key, bytes, { ...fields, ...condition }, {});
          return;
        }
        if (id === '') id = await startUpload(key, fields);
        const part = parts.length + 1;
        parts.push({ part, etag: await putPiece(key, bytes, {}, { partNumber: String(part), uploadId: id }) });
      }
      await complete(key, id, parts, condition);
    } catch (error) {
      storage.note(namespace, -taken);
      if (id !== '') await send({ method: 'DELETE', key, query: { uploadId: id } }).catch(() => {});
      throw error;
    }
  }

  /** Files of all projects. */
  async function* everything(): AsyncGenerator<FilePlace & { readonly key: string; readonly size: number }> {
    for (let cursor: string | null = null; ;) {
      const from = cursor === null ? {} : { 'start-after': root + cursor };
      const query = { 'list-type': '2', 'encoding-type': 'url', prefix: root, ...from };
      const page = toPage(await read({ method: 'GET', query }), root, cursor);
      for (const file of page.files) {
        const [, namespace, resource, key] = /^([^/]+)\/([^/]+)\/(.+)$/s.exec(file.key) ?? [];
        // Other objects there are not files.
        if (key !== undefined) yield { namespace: namespace!, resource: resource!, key, size: file.size };
      }
      if ((cursor = page.cursor) === null) return;
    }
  }

  return {
    head,
    everything,
    async kept() {
      const bytes = new Map<string, number>();
      for await (const { namespace, key, size } of everything())
        bytes.set(namespace, (bytes.get(namespace) ?? 0) + size + FILE_BYTES + Buffer.byteLength(key));
      return bytes;
    },
    async put(place, key, body, write) {
      const name = keyOf(place, key);
      const { onlyIf } = write;
      if (onlyIf !== null && !holds(onlyIf, await head(place, key))) return null;
      // Conditions that S3 supports are evaluated atomically with the write.
      const condition: Record<string, string> = {};
      if (onlyIf?.etagDoesNotMatch?.includes('*')) condition['if-none-match'] = '*';
      else if (onlyIf?.etagMatches?.length === 1) condition['if-match'] = `"${onlyIf.etagMatches[0]}"`;
      const share = budget.open(place.namespace);
      try {
        await upload(place, textBytes(textsOf(key, write)), name, body, share, write, condition);
      } catch (error) {
        if ((error as PlatformError).details?.['status'] === 412) return null;
        throw error;
      } finally {
        share.close();
      }
      return head(place, key);
    },
    async get(place, key, { range, onlyIf }) {
      const name = keyOf(place, key);
      // Not every storage supports suffix ranges.
      const size0 = range !== null && 'suffix' in range ? (await head(place, key))?.size : undefined;
      if (range !== null && 'suffix' in range && size0 === undefined) return null;
      const absolute = range === null || !('suffix' in range) ? range : resolveRange(range, size0 ?? 0);
      const header: Record<string, string> =
        absolute === null || (absolute.length === 0 && absolute.offset === 0)
          ? {}
          : {
              range: `bytes=${absolute.offset}-${absolute.length === undefined ? '' : absolute.offset + absolute.length - 1}`,
            };
      const response = await send({ method: 'GET', key: name, headers: header });
      if (response.status === 404) {
        await response.body?.cancel();
        return null;
      }
      if (response.status === 416) {
        await response.body?.cancel();
        throw new PlatformError('invalid_argument', { reason: 'The range begins after the end of the file' });
      }
      if (!response.ok) throw await refused(response);
      const size = Number(
        /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1] ?? response.headers.get('content-length'),
      );
      const found = { ...toHead(key, response.headers), size };
      const bytes = resolveRange(response.status === 206 ? absolute : null, size) ?? { offset: 0, length: size };
      if (!holds(onlyIf, found)) {
        await response.body?.cancel();
        return { head: found, range: bytes, body: null };
      }
      return {
        head: found,
        range: bytes,
        body: response.body === null ? Readable.from([]) : Readable.fromWeb(response.body as never),
      };
    },
    async delete(place, keys) {
      for (const key of keys) {
        const response = await send({ method: 'DELETE', key: keyOf(place, key) });
        await response.body?.cancel();
        if (!response.ok && response.status !== 404) throw refusal(response.status, null);
      }
    },
    async list(place, { prefix, delimiter, cursor, limit }) {
      const below = `${root}${place.namespace}/${place.resource}/`;
      const query = {
        'list-type': '2',
        'encoding-type': 'url',
        prefix: below + prefix,
        'max-keys': String(limit),
        ...(delimiter === '' ? {} : { delimiter }),
        // A key rather than a token of the storage, so that it does not expire. After everything below a grouped
        // prefix.
        ...(cursor === null ? {} : { 'start-after': below + cursor }),
      };
      return toPage(await read({ method: 'GET', query }), below, cursor);
    },
    async createUpload(place, key, write) {
      const fields = fieldsOf(write);
      storage.take(place.namespace, FILE_BYTES + textBytes(textsOf(key, write)));
      return Buffer.from(await startUpload(keyOf(place, key), fields)).toString('base64url');
    },
    async putPart(place, key, id, part, body, bytesMax) {
      const query = { partNumber: String(part), uploadId: Buffer.from(id, 'base64url').toString() };
      const most = Math.min(bytesMax, PART_BYTES_MAX);
      const share = budget.open(place.namespace);
      try {
        const chunks: Uint8Array[] = [];
        let size = 0;
        for await (const chunk of chunksOf(body)) {
          size += chunk.byteLength;
          if (size > most)
            throw new PlatformError('invalid_argument', { reason: `A part must be at most ${most} bytes` });
          await share.take(chunk.byteLength);
          chunks.push(chunk);
        }
        storage.take(place.namespace, size);
        return { etag: await putPiece(keyOf(place, key), joined(chunks), {}, query) };
      } finally {
        share.close();
      }
    },
    async completeUpload(place, key, id, parts) {
      await complete(keyOf(place, key), Buffer.from(id, 'base64url').toString(), parts);
      return (await head(place, key)) as FileHead;
    },
    async abortUpload(place, key, id) {
      const query = { uploadId: Buffer.from(id, 'base64url').toString() };
      const response = await send({ method: 'DELETE', key: keyOf(place, key), query });
      if (!response.ok) throw await refused(response);
    },
    // The bucket expires incomplete uploads: their keys are in no list of files.
    async clear(place) {
      let count = 0;
      for (let cursor: string | null = null; ;) {
        const page: FilePage = await this.list(place, { prefix: '', delimiter: '', cursor, limit: 1000 });
        count += page.files.length;
        await this.delete(
          place,
          page.files.map(({ key }) => key),
        );
        if ((cursor = page.cursor) === null) return count;
      }
    },
    async resources(namespace) {
      const below = `${root}${namespace}/`;
      const found: string[] = [];
      for (let cursor: string | null = null; ;) {
        const from = cursor === null ? {} : { 'start-after': below + cursor };
        const query = { 'list-type': '2', 'encoding-type': 'url', prefix: below, delimiter: '/', ...from };
        const page = toPage(await read({ method: 'GET', query }), below, cursor);
        found.push(...page.prefixes.map((prefix) => prefix.slice(0, -1)));
        if ((cursor = page.cursor) === null) return found;
      }
    },
    close,
  };
}

/** A part is held in memory, so that its hash is known before it is sent. */
const PART_BYTES_MAX = 128 * 1024 * 1024;

/** A body in pieces. The last piece is marked, and only it may be short. */
async function* pieces(
  body: Readable | Uint8Array,
  share: Share,
): AsyncGenerator<{ bytes: Uint8Array; isLast: boolean }> {
  let chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunksOf(body)) {
    await share.take(chunk.byteLength);
    chunks.push(chunk);
    size += chunk.byteLength;
    while (size > PIECE_BYTES) {
      const all = joined(chunks);
      yield { bytes: all.subarray(0, PIECE_BYTES), isLast: false };
      chunks = [all.subarray(PIECE_BYTES)];
      size -= PIECE_BYTES;
      share.give(PIECE_BYTES);
    }
  }
  yield { bytes: joined(chunks), isLast: true };
}

function chunksOf(body: Readable | Uint8Array): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return body instanceof Uint8Array ? [body] : (body as AsyncIterable<Uint8Array>);
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
}

/** @param below prefix of all keys. @param cursor the end of the previous page. */
function toPage(document: XmlElement, below: string, cursor: string | null): FilePage {
  const named = (name: string): XmlElement[] => document.children.filter((child) => child.name === name);
  const files = named('Contents').map((entry): FileHead => {
    const etag = unquote(childText(entry, 'ETag'));
    return {
      key: decoded(childText(entry, 'Key')).slice(below.length),
      size: Number(childText(entry, 'Size')),
      etag,
      version: etag,
      uploadedAt: Date.parse(childText(entry, 'LastModified')),
      headers: {},
      metadata: {},
      digests: {},
    };
  });
  const prefixes = named('CommonPrefixes').map((entry) => decoded(childText(entry, 'Prefix')).slice(below.length));
  if (childText(document, 'IsTruncated') !== 'true') return { files, prefixes, cursor: null };
  const last = [files.at(-1)?.key ?? '', ...prefixes.slice(-1).map((folded) => `${folded}\u{10ffff}`)]
    .toSorted(byBytes)
    .at(-1) as string;
  if (byBytes(last, cursor ?? '') <= 0) throw unavailable('its list does not continue where the previous page ended');
  return { files, prefixes, cursor: last };
}

/** Decodes a key in a list. */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch (error) {
    throw unavailable('its list contains a key that is not encoded', error);
  }
}

function toHead(key: string, fields: Headers): FileHead {
  const headers: Record<string, string> = {};
  for (const [name, header] of Object.entries(HEADER_OF)) {
    const value = fields.get(header);
    if (value !== null) headers[name] = value;
  }
  if (fields.has('x-amz-meta-untyped')) delete headers['contentType'];
  const text = fields.get('x-amz-meta-platform');
  const sums = fields.get('x-amz-meta-digests') ?? '';
  return {
    key,
    size: Number(fields.get('content-length')),
    etag: unquote(fields.get('etag')),
    version: fields.get('x-amz-meta-version') ?? unquote(fields.get('etag')),
    uploadedAt: Number(fields.get('x-amz-meta-uploaded') ?? Date.parse(fields.get('last-modified') ?? '')),
    headers,
    metadata: text === null ? {} : (JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, string>),
    digests: Object.fromEntries([...sums.matchAll(/(\w+) ([0-9a-f]+)/g)].map(([, name, hex]) => [name, hex])),
  };
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
