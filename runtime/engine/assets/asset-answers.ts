// Builds responses for static files, without their bytes: the whole file, a part, not modified, or an error (RFC 9110).
// Used by assets.ts. Pure.
import { errorPage, pageHeaders } from '#core/error-page.ts';
import { errorMessage, errorTable, type PlatformError } from '#core/errors.ts';
import type { HeaderChanges } from './asset-changes.ts';
import { isMatch, noneMatch, requestedRange, type FilePart } from './asset-conditions.ts';
import type { AssetBody, StoredFile } from './asset-contents.ts';
import type { AssetRequest } from './asset-rules.ts';

/** The response to a request for a static file. */
export interface AssetAnswer {
  readonly status: number;
  /** Headers without `content-length`, which the body determines. */
  readonly headerBlock: string;
  readonly body: AssetBody | string | null;
  /** An error of the platform. Browsers get a page about the error. */
  readonly isProblem?: true;
}

/** One encoding of a page: its bytes, and the parts of its responses that do not depend on the request. */
export interface Form {
  readonly file: StoredFile;
  readonly etag: string;
  readonly headerBlock: string;
  /** Headers of a 304, 412 or 416. */
  readonly shortBlock: string;
  readonly type: string;
}

/**
 * The response for an existing file: the whole file, a part, or not modified. RFC 9110 13.2.2 defines the order of the
 * checks.
 */
export function formAnswer(request: AssetRequest, form: Form): AssetAnswer {
  const { file, etag, headerBlock, shortBlock } = form;
  const required = request.header('if-match');
  if (required !== null && !isMatch(required, etag)) return { status: 412, headerBlock: shortBlock, body: '' };
  const condition = request.header('if-none-match');
  if (condition !== null && noneMatch(condition, etag)) return { status: 304, headerBlock: shortBlock, body: null };
  const range = request.method === 'GET' ? request.header('range') : null;
  if (range !== null) {
    const asked = requestedRange(range, request.header('if-range'), etag, file.total);
    if (asked.kind === 'unsatisfiable') {
      return { status: 416, headerBlock: `content-range\0bytes */${file.total}\0${shortBlock}`, body: '' };
    }
    if (asked.kind === 'parts') {
      const [part, ...more] = asked.parts as [FilePart, ...FilePart[]];
      if (more.length > 0) return partsAnswer(form, asked.parts);
      const block = `${headerBlock}content-range\0bytes ${part.start}-${part.end - 1}/${file.total}\0`;
      return { status: 206, headerBlock: block, body: { file, start: part.start, end: part.end } };
    }
  }
  return { status: 200, headerBlock, body: { file, start: 0, end: file.total } };
}

/** A response with several parts in one body (RFC 9110 14.6). */
function partsAnswer({ file, shortBlock, type }: Form, asked: readonly FilePart[]): AssetAnswer {
  // No file contains its own hash, so the boundary does not occur in it.
  const boundary = file.hash.slice(0, 32);
  let end = 0;
  const parts = asked.map((part, index) => {
    const range = `content-range: bytes ${part.start}-${part.end - 1}/${file.total}`;
    const head = Buffer.from(
      `${index === 0 ? '' : '\r\n'}--${boundary}\r\ncontent-type: ${type}\r\n${range}\r\n\r\n`,
      'latin1',
    );
    end += head.byteLength + part.end - part.start;
    return { ...part, head };
  });
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const headerBlock = `content-type\0multipart/byteranges; boundary=${boundary}\0${shortBlock}accept-ranges\0bytes\0`;
  return { status: 206, headerBlock, body: { file, start: 0, end: end + tail.byteLength, parts, tail } };
}

/**
 * The platform's headers with the changes of `_headers`. The short form, for responses without a body, has no content
 * type.
 */
export function headerBlockOf(
  own: readonly (readonly [string, string])[],
  changes: HeaderChanges | null,
  isWhole: boolean,
): string {
  let block = '';
  for (const [name, value] of own) {
    const set = changes?.set.get(name);
    if (name === 'vary' && set !== undefined) block += `vary\0${value}, ${set}\0`;
    else if (set === undefined && changes?.removed.has(name) !== true) block += `${name}\0${value}\0`;
  }
  if (changes === null) return block;
  const varies = own.some(([name]) => name === 'vary');
  for (const [name, value] of changes.set) {
    if ((name === 'vary' && varies) || (name === 'content-type' && !isWhole)) continue;
    block += `${name}\0${value}\0`;
  }
  return block;
}

/** A redirect to the canonical path of a file. @param target the target of the request */
export function redirectAnswer(path: string, target: string): AssetAnswer {
  const location = withQuery(encodeURI(path).replace(/[?#]/g, encodeURIComponent), target);
  return {
    status: 307,
    headerBlock: `location\0${location}\0cache-control\0public, max-age=0, must-revalidate\0`,
    body: '',
  };
}

/** A redirect's target, with the query of the request unless the target has its own. */
export function withQuery(location: string, target: string): string {
  const query = target.indexOf('?');
  const hash = location.indexOf('#');
  const base = hash < 0 ? location : location.slice(0, hash);
  if (query < 0 || base.includes('?')) return location;
  return base + target.slice(query) + (hash < 0 ? '' : location.slice(hash));
}

const TEXT_TYPE = 'content-type\0text/plain;charset=utf-8\0';
const PAGE_TYPE = pageHeaders()
  .map(([name, value]) => `${name}\0${value}\0`)
  .join('');

/** An error of the platform, as text. */
export function problem(
  code: 'asset_not_found' | 'method_not_allowed' | 'bad_request' | 'artifact_corrupt' | 'internal',
  details: PlatformError['details'] = {},
  more = '',
): AssetAnswer {
  return {
    status: errorTable[code].status,
    headerBlock: `${TEXT_TYPE}cache-control\0no-store\0${more}`,
    body: `${errorMessage(code, details)}\n`,
    isProblem: true,
  };
}

/** An error of the platform as a page, for browsers. */
export function problemPage({ status, headerBlock }: AssetAnswer): AssetAnswer {
  return { status, headerBlock: headerBlock.replace(TEXT_TYPE, PAGE_TYPE), body: errorPage(status, '') };
}
