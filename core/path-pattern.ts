// Patterns of `_headers` and `_redirects`: literal text, `:placeholder` (within one path segment) and one `*`. Used
// by the builder to validate them and by the asset server to apply them. Pure. Matching is linear: no regular
// expression is built from a tenant's input.

/** A parsed pattern: literals (decoded) and wildcards alternating; two wildcards are never adjacent. */
export interface PathPattern {
  readonly pieces: readonly PatternPiece[];
  /** The only matching text, for a pattern without wildcards. */
  readonly literal: string | null;
}

type PatternPiece = { readonly text: string } | { readonly wildcard: string };

/** The values of a pattern's wildcards by name; the name of `*` is `splat`. */
export type PatternValues = Readonly<Record<string, string>>;

const placeholder = /:([A-Za-z]\w*)/y;

/**
 * Parses a pattern.
 *
 * @throws {Error} that describes the problem.
 * @example parsePathPattern('/blog/:year/*').pieces // [{ text: '/blog/' }, { wildcard: 'year' }, { text: '/' }, {
 * wildcard: 'splat' }]
 */
export function parsePathPattern(pattern: string): PathPattern {
  const pieces: PatternPiece[] = [];
  const names = new Set<string>();
  let text = '';
  const add = (name: string): void => {
    const written = name === 'splat' ? '*' : `:${name}`;
    if (names.has(name)) throw new Error(`it has ${written} twice`);
    if (text === '') throw new Error(`${written} needs text before it`);
    names.add(name);
    pieces.push({ text: decoded(text) }, { wildcard: name });
    text = '';
  };
  for (let at = 0; at < pattern.length;) {
    if (pattern[at] === '*') {
      add('splat');
      at++;
      continue;
    }
    placeholder.lastIndex = at;
    const found = placeholder.exec(pattern);
    if (found !== null) {
      if (found[1] === 'splat') throw new Error('a placeholder cannot be called :splat, which stands for *');
      add(found[1]!);
      at += found[0].length;
      continue;
    }
    text += pattern[at++];
  }
  if (text !== '') pieces.push({ text: decoded(text) });
  return { pieces, literal: names.size > 0 ? null : decoded(text) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error(`"${text}" contains a malformed % escape`);
  }
}

/**
 * The host part (as `//host`) and the path part of a pattern of `_headers`; null if it is neither a path nor
 * `https://host/path`.
 *
 * @example splitHostPattern('https://:branch.example.dev/*') // { host: '//:branch.example.dev', path: '/*' }
 */
export function splitHostPattern(pattern: string): { readonly host: string | null; readonly path: string } | null {
  if (pattern.startsWith('/')) return { host: null, path: pattern };
  const parts = /^https:(\/\/[^/?#]+)(\/[^?#]*)?$/.exec(pattern);
  return parts === null
    ? null
    : {
        host: parts[1]!.replace(/:[A-Za-z]\w*|[^:]+/g, (part) => (part[0] === ':' ? part : part.toLowerCase())),
        path: parts[2] ?? '/',
      };
}

/**
 * Values of a pattern's wildcards in a text, or null if it does not match. A placeholder matches one or more characters
 * without the delimiter, and `*` matches any number of any characters.
 *
 * @param path decoded
 * @example matchPattern(parsePathPattern('/a/*'), '/a/b/c') // { splat: 'b/c' }
 */
export function matchPattern({ pieces, literal }: PathPattern, path: string, delimiter = '/'): PatternValues | null {
  if (literal !== null) return literal === path ? noValues : null;
  const values: Record<string, string> = {};
  const splat = pieces.findIndex((piece) => 'wildcard' in piece && piece.wildcard === 'splat');
  if (splat < 0) return matchBack(pieces, 0, path, 0, delimiter, values) === 0 ? values : null;
  const start = matchOn(pieces, splat, path, delimiter, values);
  if (start < 0) return null;
  const end = matchBack(pieces, splat + 1, path, start, delimiter, values);
  if (end < 0) return null;
  values['splat'] = path.slice(start, end);
  return values;
}

const noValues: PatternValues = {};

/** Matches the pieces before `to` from the left, with placeholders as short as possible; returns their end, or -1. */
function matchOn(
  pieces: readonly PatternPiece[],
  to: number,
  path: string,
  delimiter: string,
  values: Record<string, string>,
): number {
  let at = 0;
  for (let i = 0; i < to; i++) {
    const piece = pieces[i]!;
    if ('text' in piece) {
      if (!path.startsWith(piece.text, at)) return -1;
      at += piece.text.length;
      continue;
    }
    // The next piece is a literal, because two wildcards are never adjacent.
    const end = path.indexOf((pieces[i + 1] as { text: string }).text, at + 1);
    if (end < 0 || !setValue(values, piece.wildcard, path.slice(at, end), delimiter)) return -1;
    at = end;
  }
  return at;
}

/** Matches the pieces after `from` from the right, not before `least`; returns their start, or -1. */
function matchBack(
  pieces: readonly PatternPiece[],
  from: number,
  path: string,
  least: number,
  delimiter: string,
  values: Record<string, string>,
): number {
  let end = path.length;
  for (let i = pieces.length - 1; i >= from; i--) {
    const piece = pieces[i]!;
    if ('text' in piece) {
      const at = end - piece.text.length;
      if (at < least || !path.startsWith(piece.text, at)) return -1;
      end = at;
      continue;
    }
    const { text } = pieces[i - 1] as { text: string };
    const latest = end - 1 - text.length;
    const at = latest < least ? -1 : path.lastIndexOf(text, latest);
    // The text must begin with the first piece, so that `/:a` does not match `/x/y`.
    if (at < least || !setValue(values, piece.wildcard, path.slice(at + text.length, end), delimiter)) return -1;
    end = at + text.length;
  }
  return end;
}

function setValue(values: Record<string, string>, name: string, value: string, delimiter: string): boolean {
  if (value.includes(delimiter)) return false;
  values[name] = value;
  return true;
}

/** Fills in the `:placeholders` of a text; names without a value are kept. */
export function fillPlaceholders(text: string, values: PatternValues, encode: (value: string) => string): string {
  if (values === noValues) return text;
  return text.replace(/:([A-Za-z]\w*)/g, (written, name: string) =>
    Object.hasOwn(values, name) ? encode(values[name]!) : written,
  );
}
