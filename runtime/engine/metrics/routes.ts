// Guesses the route of a path from its first segments: names are kept, and ids become `*`. Used by the counts of usage
// and by the records of invocations. Pure.

const SEGMENTS_SHOWN = 2;
/** Matches the characters of a name. File names and percent-encoded texts are not names. */
const NAME = /^[a-z0-9._~-]{1,32}$/i;
const LETTER = /[a-z]/i;
/** Matches ids: UUIDs, and other hexadecimal numbers of at least eight digits that have a decimal digit. */
const HEX = /^(?=.*\d)[0-9a-f]{8,}$/i;
/** Matches numbers of records, such as the end of `order-10023`; years and versions are shorter. */
const LONG_NUMBER = /^\d{5,}$/;
/**
 * With this many changes between letters and digits, a text is not a word: `oauth2` has one, `base64url` two,
 * `8f3kd02m` five.
 */
const CHANGE = /[a-z](?=\d)|\d(?=[a-z])/gi;
const [TOKEN_CHARS, TOKEN_CHANGES] = [8, 3];
/** A text with a digit that is at least this long is not a word. */
const LONG_TOKEN = /^(?=.*\d).{20,}$/;

/**
 * The route of a path, which is its first two segments, with `*` for ids and for all further segments.
 *
 * @example routeOf('/api/users/7') // '/api/users/*'
 * @example routeOf('/v2/oauth2') // '/v2/oauth2'
 * @example routeOf('/posts/8f14e45f') // '/posts/*'
 */
export function routeOf(path: string): string {
  const [, ...parts] = path.split('/', 5);
  const named = parts.filter((part) => part !== '');
  const shown = named.slice(0, SEGMENTS_SHOWN).map((part) => (isName(part) ? part : '*'));
  if (named.length > SEGMENTS_SHOWN && shown.at(-1) !== '*') shown.push('*');
  return `/${shown.join('/')}`;
}

/**
 * Whether a segment is a name. Otherwise, it is an id: a number, a UUID, a long hexadecimal number or a mixed token.
 */
function isName(segment: string): boolean {
  if (!NAME.test(segment) || !LETTER.test(segment)) return false;
  return segment.split(/[._~-]/).every((word) => !HEX.test(word) && !LONG_NUMBER.test(word) && !isToken(word));
}

function isToken(word: string): boolean {
  if (word.length < TOKEN_CHARS) return false;
  return LONG_TOKEN.test(word) || (word.match(CHANGE)?.length ?? 0) >= TOKEN_CHANGES;
}
