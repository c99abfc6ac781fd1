// Conditional, range and encoding headers of requests for static files (RFC 9110 12 to 14). Pure functions over header values, used by assets.ts.
import { assetEncodings, type AssetEncoding } from '#core/manifest.ts';

/** Whether an If-None-Match names the current entity tag; `W/` does not matter here (RFC 9110 13.1.2). */
export function noneMatch(header: string, etag: string): boolean {
  if (header.trim() === '*') return true;
  for (const [, tag] of header.matchAll(/(?:W\/)?("[^"]*")/g)) if (tag === etag) return true;
  return false;
}

/** Whether an If-Match lets a request through: it names the current strong entity tag, or any (RFC 9110 13.1.1). */
export function isMatch(header: string, etag: string): boolean {
  if (header.trim() === '*') return true;
  for (const [, weak, tag] of header.matchAll(/(W\/)?("[^"]*")/g)) if (weak === undefined && tag === etag) return true;
  return false;
}

/** Forms that a client takes, the one it wants most first. */
export type EncodingOrder = readonly (AssetEncoding | 'identity')[];

const plainOnly: EncodingOrder = ['identity'];

/**
 * The order in which an Accept-Encoding takes the codings that files come in (RFC 9110 12.5.3). Of those with one weight
 * the smallest comes first; the plain form is last unless it is asked for, and never missing: it is better than no answer.
 *
 * @example encodingOrder('gzip;q=0.5, br;q=1.0') // ['br', 'gzip', 'identity']
 */
export function encodingOrder(header: string | null): EncodingOrder {
  if (header === null) return plainOnly;
  const weights = new Map<string, number>();
  for (const member of header.toLowerCase().split(',')) {
    const [, coding, q = '1'] = /^\s*([a-z0-9*_.+-]+)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?$/.exec(member) ?? [];
    if (coding !== undefined) weights.set(coding === 'x-gzip' ? 'gzip' : coding, Number(q));
  }
  const any = weights.get('*') ?? 0;
  const order: (AssetEncoding | 'identity')[] = assetEncodings.filter((coding) => (weights.get(coding) ?? any) > 0);
  // Unnamed, the plain form has no weight of its own: everything that is named goes before it.
  const weightOf = (coding: string): number => weights.get(coding) ?? (coding === 'identity' ? 0 : any);
  order.push('identity');
  return order.toSorted((a, b) => weightOf(b) - weightOf(a));
}

/** The part of a file that a request asks for: the whole, a part, or one that is not there. */
export type RangeResult =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly start: number; readonly end: number }
  | { readonly kind: 'unsatisfiable' };

const whole: RangeResult = { kind: 'whole' };

/**
 * A single range of bytes; `end` is exclusive. Several ranges, other units and malformed values ask for the whole
 * (RFC 9110 14.2 allows it), and so does an If-Range that is not the current strong entity tag.
 */
export function requestedRange(range: string | null, ifRange: string | null, etag: string, bytes: number): RangeResult {
  if (range === null || (ifRange !== null && ifRange.trim() !== etag)) return whole;
  const match = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(range);
  if (match === null) return whole;
  const [, from, to] = match as unknown as [string, string, string];
  if (from === '') {
    if (to === '') return whole;
    const last = Number(to);
    if (last === 0 || bytes === 0) return { kind: 'unsatisfiable' };
    return { kind: 'part', start: Math.max(0, bytes - last), end: bytes };
  }
  const start = Number(from);
  const end = to === '' ? bytes : Math.min(Number(to) + 1, bytes);
  if (to !== '' && Number(to) < start) return whole;
  if (start >= bytes) return { kind: 'unsatisfiable' };
  return { kind: 'part', start, end };
}
