// Conditional, range and encoding headers of requests for static files (RFC 9110 12 to 14). Pure functions over header
// values, used by assets.ts.
import { assetEncodings, type AssetEncoding } from '#core/manifest.ts';

/** Whether an If-None-Match names the current entity tag, ignoring `W/` (RFC 9110 13.1.2). */
export function noneMatch(header: string, etag: string): boolean {
  if (header.trim() === '*') return true;
  for (const [, tag] of header.matchAll(/(?:W\/)?("[^"]*")/g)) if (tag === etag) return true;
  return false;
}

/** Whether an If-Match names the current strong entity tag, or any (RFC 9110 13.1.1). */
export function isMatch(header: string, etag: string): boolean {
  if (header.trim() === '*') return true;
  for (const [, weak, tag] of header.matchAll(/(W\/)?("[^"]*")/g)) if (weak === undefined && tag === etag) return true;
  return false;
}

/** Encodings that a client accepts, most preferred first. */
export type EncodingOrder = readonly (AssetEncoding | 'identity')[];

const PLAIN_ONLY: EncodingOrder = ['identity'];

/**
 * Orders the available encodings by an Accept-Encoding (RFC 9110 12.5.3). Equal weights are ordered by size, smallest
 * first. The unencoded form is last unless it is listed, and always included, because it is better than an error.
 *
 * @example encodingOrder('gzip;q=0.5, br;q=1.0') // ['br', 'gzip', 'identity']
 */
export function encodingOrder(header: string | null): EncodingOrder {
  if (header === null) return PLAIN_ONLY;
  const weights = new Map<string, number>();
  for (const member of header.toLowerCase().split(',')) {
    const [, coding, q = '1'] = /^\s*([a-z0-9*_.+-]+)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?$/.exec(member) ?? [];
    if (coding !== undefined) weights.set(coding === 'x-gzip' ? 'gzip' : coding, Number(q));
  }
  const any = weights.get('*') ?? 0;
  const order: (AssetEncoding | 'identity')[] = assetEncodings.filter((coding) => (weights.get(coding) ?? any) > 0);
  // If not listed, the unencoded form comes after everything that is listed.
  const weightOf = (coding: string): number => weights.get(coding) ?? (coding === 'identity' ? 0 : any);
  order.push('identity');
  return order.toSorted((a, b) => weightOf(b) - weightOf(a));
}

/** A part of a file; `end` is exclusive. */
export interface FilePart {
  readonly start: number;
  readonly end: number;
}

/** The requested range of a file: the whole file, some parts in file order, or only parts beyond its end. */
type RangeResult =
  | { readonly kind: 'whole' }
  | { readonly kind: 'parts'; readonly parts: readonly FilePart[] }
  | { readonly kind: 'unsatisfiable' };

const WHOLE: RangeResult = { kind: 'whole' };
/** Requests with more ranges are probably abuse, and get the whole file (RFC 9110 17.15). */
const RANGES_MAX = 16;
/** Parts closer than this are joined: the gap is smaller than the headers between them. */
const GAP_BYTES_MAX = 80;

/**
 * Parses the requested byte ranges; parts that overlap or nearly touch are joined. Other units, malformed values (RFC
 * 9110 14.2) and an If-Range other than the current strong entity tag request the whole file.
 *
 * @example requestedRange('bytes=0-99, 500-', null, '"a"', 600) // { kind: 'parts', parts: [{ start: 0, end: 100 }, {
 * start: 500, end: 600 }] }
 */
export function requestedRange(range: string | null, ifRange: string | null, etag: string, bytes: number): RangeResult {
  if (range === null || (ifRange !== null && ifRange.trim() !== etag)) return WHOLE;
  const list = /^bytes=(.*)$/i.exec(range)?.[1]?.split(',');
  if (list === undefined || list.length > RANGES_MAX) return WHOLE;
  const asked: FilePart[] = [];
  for (const member of list) {
    const match = /^\s*(\d*)\s*-\s*(\d*)\s*$/.exec(member);
    if (match === null) return WHOLE;
    const [, from, to] = match as unknown as [string, string, string];
    if (from === '' ? to === '' : to !== '' && Number(to) < Number(from)) return WHOLE;
    const start = from === '' ? Math.max(0, bytes - Number(to)) : Number(from);
    const end = from === '' || to === '' ? bytes : Math.min(Number(to) + 1, bytes);
    if (start < end) asked.push({ start, end });
  }
  if (asked.length === 0) return { kind: 'unsatisfiable' };
  const parts: FilePart[] = [];
  for (const part of asked.toSorted((a, b) => a.start - b.start)) {
    const last = parts.at(-1);
    if (last === undefined || part.start > last.end + GAP_BYTES_MAX) parts.push(part);
    else parts[parts.length - 1] = { start: last.start, end: Math.max(last.end, part.end) };
  }
  return { kind: 'parts', parts };
}
