// The blob URLs of this isolate: `URL.createObjectURL` (File API section 8). Used by URL, Request and fetch. The number
// of blobs is limited, since only `revokeObjectURL` releases a blob.
import { SafeMap } from '../safe.ts';
import { useModule } from '../modules.ts';
import { isBlob, type Blob } from './blob.ts';

const BLOB_URLS_MAX = 10_000;
const blobs = new SafeMap<string, Blob>();

/**
 * Creates a URL for a blob; its origin is opaque, like that of a worker. @throws {TypeError} for any value that is not
 * a Blob.
 */
export function createBlobUrl(blob: unknown): string {
  if (!isBlob(blob)) throw new TypeError('URL.createObjectURL needs a Blob');
  if (blobs.size >= BLOB_URLS_MAX)
    throw new TypeError(`An isolate can have at most ${BLOB_URLS_MAX} blob URLs: revoke unused ones`);
  const url = `blob:null/${useModule('crypto').crypto.randomUUID()}`;
  blobs.set(url, blob);
  return url;
}

export function revokeBlobUrl(url: string): void {
  blobs.delete(url);
}

/** The blob of a serialized URL without its fragment; undefined if there is none. */
export function blobOfUrl(href: string): Blob | undefined {
  const hash = href.indexOf('#');
  return blobs.get(hash < 0 ? href : href.slice(0, hash));
}
