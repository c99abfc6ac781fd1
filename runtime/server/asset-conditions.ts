// Conditional and range requests of static files (RFC 9110 13 and 14). Pure functions over header values, used by assets.ts.

/** Whether an If-None-Match names the current entity tag; `W/` does not matter here (RFC 9110 13.1.2). */
export function noneMatch(header: string, etag: string): boolean {
  if (header.trim() === '*') return true;
  for (const [, tag] of header.matchAll(/(?:W\/)?("[^"]*")/g)) if (tag === etag) return true;
  return false;
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
