// Converts the options of a file binding's methods, as in R2, to the arguments of host calls.
import { invalidArgument, toOptions } from '../../calls.ts';
import { isBlob } from '../../web/blob.ts';
import { Headers } from '../../web/headers.ts';
import { headerFields } from './stored-file.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Options of R2 that this platform does not support. */
const notHere: Readonly<Record<string, string>> = {
  ssecKey: 'encryption at rest is up to the storage',
  storageClass: 'there is one class, Standard',
  cacheExpiry: 'use max-age in cacheControl',
};

const digestNames = ['md5', 'sha1', 'sha256', 'sha384', 'sha512'];

/** @throws {TypeError} `invalid_argument`, for an option that would be ignored. */
export function refuseOthers(call: string, options: unknown, what = `The options of ${call}`): void {
  const given = toOptions(what, options as Fields);
  for (const [name, why] of Object.entries(notHere)) {
    const value = given[name];
    if (value === undefined || value === null || (name === 'storageClass' && value === 'Standard')) continue;
    throw invalidArgument(`${call} does not take ${name} here: ${why}`);
  }
}

const isHeaders = (value: unknown): value is Headers => value instanceof Headers;

function headersOf(given: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  if (isHeaders(given)) {
    for (const [name, field] of Object.entries(headerFields)) {
      const value = given.get(name);
      if (value !== null) headers[field] = value;
    }
    return headers;
  }
  for (const field of Object.values(headerFields)) {
    const value = (given as Fields | null | undefined)?.[field];
    if (value !== undefined && value !== null) headers[field] = String(value);
  }
  return headers;
}

export function conditionOf(given: unknown): Fields | undefined {
  if (given === undefined || given === null) return undefined;
  if (!isHeaders(given)) {
    const { etagMatches, etagDoesNotMatch, uploadedBefore, uploadedAfter, secondsGranularity } = toOptions(
      'onlyIf',
      given as Fields,
    );
    const [before, after] = [toMs(uploadedBefore), toMs(uploadedAfter)];
    // Compares upload times in whole seconds.
    const inSeconds = secondsGranularity === true;
    return {
      etagMatches,
      etagDoesNotMatch,
      uploadedBefore: inSeconds && typeof before === 'number' ? Math.ceil(before / 1000) * 1000 : before,
      uploadedAfter: inSeconds && typeof after === 'number' ? Math.floor(after / 1000) * 1000 + 999 : after,
    };
  }
  const tags = (name: string): string[] | undefined =>
    given
      .get(name)
      ?.split(',')
      .map((tag) => tag.trim());
  const time = (name: string): number | undefined => {
    const ms = Date.parse(given.get(name) ?? '');
    return Number.isNaN(ms) ? undefined : ms;
  };
  const since = time('if-modified-since');
  const until = time('if-unmodified-since');
  return {
    etagMatches: tags('if-match'),
    etagDoesNotMatch: tags('if-none-match'),
    // HTTP dates have whole seconds.
    uploadedAfter: since === undefined || given.has('if-none-match') ? undefined : since + 999,
    uploadedBefore: until === undefined || given.has('if-match') ? undefined : until + 1000,
  };
}

export function rangeOf(given: unknown): Fields | undefined {
  if (given === undefined || given === null) return undefined;
  if (!isHeaders(given)) return toOptions('range', given as Fields);
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(given.get('range') ?? '') ?? [];
  if (from === undefined || (from === '' && to === '')) return undefined;
  if (from === '') return { suffix: Number(to) };
  return { offset: Number(from), ...(to === '' ? {} : { length: Number(to) - Number(from) + 1 }) };
}

export function writeOf(call: string, options: Fields | null | undefined, value: unknown): Fields {
  refuseOthers(call, options);
  if (!isHeaders(options?.['httpMetadata'])) refuseOthers(call, options?.['httpMetadata'], 'httpMetadata');
  const { contentType, httpMetadata, metadata, customMetadata, onlyIf } = options ?? {};
  const implied =
    typeof value === 'string' ? 'text/plain; charset=utf-8' : isBlob(value) ? (value as { type: string }).type : '';
  const headers = headersOf(httpMetadata);
  if (contentType !== undefined) headers['contentType'] = String(contentType);
  else if (implied !== '') headers['contentType'] ??= implied;
  const digests = Object.fromEntries(digestNames.map((name) => [name, toHex(options?.[name])]));
  return { headers, metadata: metadata ?? customMetadata, onlyIf: conditionOf(onlyIf), ...digests };
}

/** Digests are hex or bytes. */
function toHex(digest: unknown): unknown {
  if (digest === undefined || digest === null || typeof digest === 'string') return digest;
  const bytes = ArrayBuffer.isView(digest)
    ? new Uint8Array(digest.buffer as ArrayBuffer, digest.byteOffset, digest.byteLength)
    : new Uint8Array(digest as ArrayBuffer);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function toMs(time: unknown): unknown {
  return time instanceof Date ? time.getTime() : time;
}
