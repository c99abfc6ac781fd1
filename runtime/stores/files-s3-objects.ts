// How files are stored as objects of a bucket: their headers, and the lists of their keys. Called by files-s3.ts. Sends
// no request.
import { randomBytes } from 'node:crypto';
import type { Headers } from 'undici';
import { PlatformError } from '#core/errors.ts';
import { unavailable, unquote } from '#core/s3/bucket.ts';
import { childText, type XmlElement } from '#core/s3/xml.ts';
import type { FileHead, FileHeaders, FilePage, FileWrite } from '../engine/bindings/files.ts';

/** S3's limit for custom fields of a file. */
const METADATA_BYTES_MAX = 1800;

const HEADER_OF: Readonly<Record<keyof FileHeaders, string>> = {
  contentType: 'content-type',
  contentLanguage: 'content-language',
  contentDisposition: 'content-disposition',
  contentEncoding: 'content-encoding',
  cacheControl: 'cache-control',
};

/** The headers of a file. @throws {PlatformError} if its metadata is too large. */
export function fieldsOf({
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

/** @param below the prefix of all keys. @param cursor the end of the previous page. */
export function toPage(document: XmlElement, below: string, cursor: string | null): FilePage {
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

export function toHead(key: string, fields: Headers): FileHead {
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
