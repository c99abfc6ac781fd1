// Files in a bucket of S3-compatible storage. Every request has the hash of its bytes, so that damaged data is
// refused. Keys are below `<namespace>/<resource>/`.
import { Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import { unlimitedStorage, type StorageGuard } from '#core/storage-left.ts';
import type { FileHead, FilePage, FilePlace, FileStore } from '../engine/bindings/files.ts';
import { FILE_BYTES, textBytes, textsOf } from './file-bytes.ts';
import { holds, resolveRange } from './file-conditions.ts';
import { fieldsOf, toHead, toPage } from './files-s3-objects.ts';
import { createUploads } from './files-s3-uploads.ts';
import { openBucket, refusal, refused, type BucketOptions } from '#core/s3/bucket.ts';

/** A bucket, and the layout of its files. */
interface S3Options extends BucketOptions {
  /** Prefix of all keys, without leading and trailing slashes; '' for none. */
  readonly prefix: string;
  /** Memory limit for a namespace's uploads, above which all uploads except the oldest wait. */
  readonly uploadBytesHeldMax: number;
  /** Remaining storage of organizations. */
  readonly storage?: StorageGuard;
}

/** Opens the bucket; sends no request before the first call. */
export function openFilesS3(options: S3Options): FileStore & {
  everything(): AsyncGenerator<FilePlace & { readonly key: string; readonly size: number }>;
  /** The bytes by namespace, from a list of the whole bucket. They exclude metadata and parts of unfinished uploads. */
  kept(): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
} {
  const { storage = unlimitedStorage } = options;
  const root = options.prefix === '' ? '' : `${options.prefix}/`;
  const bucket = openBucket(options);
  const { send, read, close } = bucket;
  const uploads = createUploads(bucket, storage, options.uploadBytesHeldMax);

  const keyOf = ({ namespace, resource }: FilePlace, key: string): string => {
    if (key.split('/').some((segment) => segment === '.' || segment === '..'))
      throw new PlatformError('invalid_argument', {
        reason: 'This storage does not support keys with the segments "." and ".."',
      });
    return `${root}${namespace}/${resource}/${key}`;
  };

  async function head(place: FilePlace, key: string): Promise<FileHead | null> {
    const response = await send({ method: 'HEAD', key: keyOf(place, key) });
    if (response.status === 404) return null;
    if (!response.ok) throw refusal(response.status, null);
    return toHead(key, response.headers);
  }

  /** Files of all projects. */
  async function* everything(): AsyncGenerator<FilePlace & { readonly key: string; readonly size: number }> {
    for (let cursor: string | null = null; ;) {
      const from = cursor === null ? {} : { 'start-after': root + cursor };
      const query = { 'list-type': '2', 'encoding-type': 'url', prefix: root, ...from };
      const page = toPage(await read({ method: 'GET', query }), root, cursor);
      for (const file of page.files) {
        const [, namespace, resource, key] = /^([^/]+)\/([^/]+)\/(.+)$/s.exec(file.key) ?? [];
        // Other objects with this prefix are not files.
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
      const target = { namespace: place.namespace, key: name };
      try {
        await uploads.put(target, textBytes(textsOf(key, write)), body, write, condition);
      } catch (error) {
        if ((error as PlatformError).details?.['status'] === 412) return null;
        throw error;
      }
      return head(place, key);
    },
    async get(place, key, { range, onlyIf }) {
      const name = keyOf(place, key);
      // The length is read first, because not every storage supports suffix ranges.
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
        // The cursor is a key, not a token of the storage, so that it does not expire. After a grouped prefix, it
        // follows everything below the prefix.
        ...(cursor === null ? {} : { 'start-after': below + cursor }),
      };
      return toPage(await read({ method: 'GET', query }), below, cursor);
    },
    async createUpload(place, key, write) {
      const fields = fieldsOf(write);
      storage.take(place.namespace, FILE_BYTES + textBytes(textsOf(key, write)));
      return Buffer.from(await uploads.start(keyOf(place, key), fields)).toString('base64url');
    },
    async putPart(place, key, id, part, body, bytesMax) {
      const target = { namespace: place.namespace, key: keyOf(place, key) };
      return { etag: await uploads.putPart(target, { id: uploadIdOf(id), part }, body, bytesMax) };
    },
    async completeUpload(place, key, id, parts) {
      await uploads.complete(keyOf(place, key), uploadIdOf(id), parts);
      return (await head(place, key)) as FileHead;
    },
    async abortUpload(place, key, id) {
      const query = { uploadId: uploadIdOf(id) };
      const response = await send({ method: 'DELETE', key: keyOf(place, key), query });
      if (!response.ok) throw await refused(response);
    },
    // Incomplete uploads are not deleted here, because the bucket expires them, and their keys are in no list of files.
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

/** The bucket's id of an upload. */
function uploadIdOf(id: string): string {
  return Buffer.from(id, 'base64url').toString();
}
