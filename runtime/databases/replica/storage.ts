// The objects of a replica in a bucket: `<prefix>/installation`, `<prefix>/fences/<number>` and
// `<prefix>/databases/<namespace>/<resource>/<name>` (series.ts). Each request has a timeout.
import type { BucketPlace } from '#core/s3/bucket-variables.ts';
import { openBucket } from '#core/s3/bucket.ts';
import { childText } from '#core/s3/xml.ts';

/** Objects below a prefix. */
export interface ReplicaStorage {
  put(key: string, body: Uint8Array): Promise<void>;
  /** @returns null if the object does not exist. */
  get(key: string): Promise<Buffer | null>;
  /** Keys without the prefix, sorted. */
  list(below: string): Promise<string[]>;
  remove(key: string): Promise<void>;
  close(): Promise<void>;
}

/** A part of a snapshot has at most 16 MB before compression. */
const REQUEST_MS_MAX = 60_000;

/** Opens the storage without sending a request. */
export function openReplicaStorage(place: BucketPlace): ReplicaStorage {
  const bucket = openBucket(place);
  const root = `${place.prefix}/`;
  const timed = () => ({ signal: AbortSignal.timeout(REQUEST_MS_MAX) });
  return {
    async put(key, body) {
      const response = await bucket.expect({ method: 'PUT', key: root + key, body, ...timed() });
      await response.body?.cancel();
    },
    async get(key) {
      const response = await bucket.send({ method: 'GET', key: root + key, ...timed() });
      if (response.status === 404) {
        await response.body?.cancel();
        return null;
      }
      if (!response.ok) {
        await response.body?.cancel();
        throw new Error(`the storage answers ${response.status}`);
      }
      return Buffer.from(await response.arrayBuffer());
    },
    async list(below) {
      const keys: string[] = [];
      for (let after = ''; ;) {
        const document = await bucket.read({
          method: 'GET',
          query: {
            'list-type': '2',
            prefix: root + below,
            'max-keys': '1000',
            ...(after === '' ? {} : { 'start-after': after }),
          },
          ...timed(),
        });
        const page = document.children
          .filter(({ name }) => name === 'Contents')
          .map((entry) => childText(entry, 'Key'));
        keys.push(...page.map((key) => key.slice(root.length)));
        const last = page.at(-1) ?? '';
        if (childText(document, 'IsTruncated') !== 'true' || last <= after) return keys;
        after = last;
      }
    },
    async remove(key) {
      const response = await bucket.send({ method: 'DELETE', key: root + key, ...timed() });
      await response.body?.cancel();
      if (!response.ok && response.status !== 404) throw new Error(`the storage answers ${response.status}`);
    },
    close: () => bucket.close(),
  };
}
