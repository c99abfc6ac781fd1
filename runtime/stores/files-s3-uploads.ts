// Uploads to a bucket: sends bodies of any size in pieces of a few megabytes, and limits the memory of a namespace's
// uploads. Called by files-s3.ts, which names the objects.
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import { refusal, unavailable, unquote, type Bucket } from '#core/s3/bucket.ts';
import { childText, escapeXml } from '#core/s3/xml.ts';
import type { StorageGuard } from '#core/storage-left.ts';
import type { FileWrite } from '../engine/bindings/files.ts';
import { ByteBudget, type Share } from './byte-budget.ts';
import { FILE_BYTES } from './file-bytes.ts';
import { createDigests } from './file-digests.ts';
import { fieldsOf } from './files-s3-objects.ts';

/** Size of the pieces of an upload of unknown length; S3 requires parts of at least 5 MB. */
const PIECE_BYTES = 8 * 1024 * 1024;
/** Size of a part, which is held in memory so that its hash is known before it is sent. */
const PART_BYTES_MAX = 128 * 1024 * 1024;

/** The target of an upload. */
interface Target {
  readonly namespace: string;
  /** Of the object. */
  readonly key: string;
}

interface Part {
  readonly part: number;
  readonly etag: string;
}

interface Uploads {
  /**
   * Sends a body in pieces; the parts of an interrupted upload are discarded.
   *
   * @param texts bytes of the key and the metadata, which count as storage.
   * @param condition headers of a conditional write.
   */
  put(
    target: Target,
    texts: number,
    body: Readable | Uint8Array,
    write: FileWrite,
    condition: Readonly<Record<string, string>>,
  ): Promise<void>;
  /** Begins an upload in parts. @returns its id. */
  start(key: string, fields: Readonly<Record<string, string>>): Promise<string>;
  /** @returns the part's ETag. */
  putPart(
    target: Target,
    at: { readonly id: string; readonly part: number },
    body: Readable | Uint8Array,
    bytesMax: number,
  ): Promise<string>;
  complete(key: string, id: string, parts: readonly Part[], headers?: Readonly<Record<string, string>>): Promise<void>;
}

/** Creates the uploads to a bucket. @param bytesHeldMax memory limit of a namespace's uploads. */
export function createUploads({ send, expect, read }: Bucket, storage: StorageGuard, bytesHeldMax: number): Uploads {
  const budget = new ByteBudget(bytesHeldMax);

  async function putPiece(
    key: string,
    body: Uint8Array,
    headers: Readonly<Record<string, string>>,
    query: Readonly<Record<string, string>>,
  ): Promise<string> {
    const response = await expect({ method: 'PUT', key, body, headers, query });
    const etag = unquote(response.headers.get('etag'));
    await response.body?.cancel();
    const md5 = createHash('md5').update(body).digest('hex');
    if (/^[0-9a-f]{32}$/.test(etag) && etag !== md5)
      throw unavailable(`it stored different bytes than were sent (${etag}, not ${md5})`);
    return etag;
  }

  async function start(key: string, fields: Readonly<Record<string, string>>): Promise<string> {
    return childText(await read({ method: 'POST', key, query: { uploads: '' }, headers: fields }), 'UploadId');
  }

  async function complete(
    key: string,
    upload: string,
    parts: readonly Part[],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const list = parts
      .map(({ part, etag }) => `<Part><PartNumber>${part}</PartNumber><ETag>"${escapeXml(etag)}"</ETag></Part>`)
      .join('');
    const body = Buffer.from(`<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`);
    const document = await read({ method: 'POST', key, query: { uploadId: upload }, headers, body });
    // The body is read even for status 200, because S3 may begin its response before it knows the result.
    if (document.name === 'Error') throw refusal(400, document);
  }

  async function sendPieces(
    { namespace, key }: Target,
    texts: number,
    body: Readable | Uint8Array,
    share: Share,
    write: FileWrite,
    condition: Readonly<Record<string, string>>,
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
    const parts: Part[] = [];
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
        if (id === '') id = await start(key, fields);
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

  return {
    start,
    complete,
    async put(target, texts, body, write, condition) {
      const share = budget.open(target.namespace);
      try {
        await sendPieces(target, texts, body, share, write, condition);
      } finally {
        share.close();
      }
    },
    async putPart({ namespace, key }, { id, part }, body, bytesMax) {
      const most = Math.min(bytesMax, PART_BYTES_MAX);
      const share = budget.open(namespace);
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
        storage.take(namespace, size);
        return await putPiece(key, joined(chunks), {}, { partNumber: String(part), uploadId: id });
      } finally {
        share.close();
      }
    },
  };
}

/** Splits a body into pieces. The last piece is marked, and only the last one may be short. */
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
