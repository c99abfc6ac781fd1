// Validates rules of `_headers` and `_redirects`: for the builder, which reads those files, and for external manifests.
// Pure.
import { parsePathPattern, splitHostPattern, type PathPattern } from './path-pattern.ts';

/** Headers of framing or content identity, which only the server can set. */
const OWNED_BY_SERVER = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'date',
  'etag',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Maximum number of rules in `_headers`. */
export const HEADER_RULES_MAX = 100;
/** Maximum number of rules in `_redirects`, without and with wildcards. */
export const STATIC_REDIRECTS_MAX = 2000;
export const DYNAMIC_REDIRECTS_MAX = 100;

/** Why the pattern of a header rule is invalid; null if it is valid. */
export function headerPatternProblem(text: string): string | null {
  if (/\s/.test(text)) return 'it contains white space';
  try {
    const parts = splitHostPattern(text);
    if (parts === null) return 'write a path, or https://host/path without query';
    if (parts.host !== null) parsePathPattern(parts.host);
    parsePathPattern(parts.path);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Why a header that a rule sets or removes is invalid; null if it is valid. @param name the name in lower case */
export function headerNameProblem(name: string, isRemoved: boolean): string | null {
  if (!/^[a-z0-9!#$%&'*+\-.^_`|~]+$/.test(name)) return `"${name}" is not a header name`;
  if (OWNED_BY_SERVER.has(name)) return `The header ${name} is set by the server and cannot be changed`;
  if (isRemoved && name === 'vary')
    return 'The header vary cannot be removed: caches would mix compressed and plain answers';
  return null;
}

/** Whether a header can carry a value. */
export function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}

/** Why the source of a redirect is invalid; null if it is valid. */
export function redirectSourceProblem(from: string): string | null {
  if (/^https?:/.test(from))
    return 'The source of a redirect must be a path: redirects of whole hosts are not supported';
  if (!from.startsWith('/')) return `The source "${from}" does not begin with /`;
  if (/[?#]/.test(from)) return `The source "${from}" contains a query or a fragment: only paths are matched`;
  return null;
}

/** Why the target of a redirect is invalid, as a text to append to the target; null if it is valid. */
export function redirectTargetProblem(to: string, from: PathPattern, isRewrite: boolean): string | null {
  const isPath = to.startsWith('/') && !/^\/[/\\]/.test(to);
  if (!isPath && isRewrite) return 'is not a path of this site: the status 200 serves one of its own files';
  if (isRewrite && /[?#]/.test(to)) return 'contains a query or a fragment, which status 200 does not use';
  if (!isPath && !/^https?:\/\/[^/?#]/.test(to)) return 'is neither a path with a single leading / nor an http(s) URL';
  if (/[^\x21-\x7e\x80-\u{10ffff}]/u.test(to)) return 'contains a control character';
  const names = new Set(from.pieces.flatMap((piece) => ('wildcard' in piece ? [piece.wildcard] : [])));
  const path = isPath ? to : to.replace(/^https?:\/\//, '');
  for (const [, name] of path.matchAll(/:([A-Za-z]\w*)/g))
    if (!names.has(name!)) return `uses :${name!}, which the source does not have`;
  return null;
}
