// The headers that users can set for the requests of a subscription. Used by drains and collectors.
import Type from '#core/typebox/typebox.mjs';
import { ApiError } from '../http/errors.ts';

const HEADERS_MAX = 20;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** Headers that the request sets itself. */
const OWN_HEADERS =
  /^(?:host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|x-platform-.*)$/i;

/** By name. Values are secrets. */
export const HeadersSchema = Type.Record(Type.String(), Type.String({ maxLength: 4096, pattern: '^[\\x20-\\x7e]*$' }), {
  description: 'Such as `authorization`. Header values are stored encrypted and not shown again',
  maxProperties: HEADERS_MAX,
});

/**
 * Checks the names of headers.
 *
 * @param field the field of the request, for the error. @throws {ApiError} `bad_request` naming the header, never its
 * value.
 */
export function checkHeaders(field: string, headers: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(headers)) {
    const problem = !NAME.test(name)
      ? `"${name.slice(0, 100)}" is not a valid name`
      : OWN_HEADERS.test(name)
        ? `${name} is set by the platform`
        : null;
    if (problem !== null) throw new ApiError('bad_request', { reason: `${field}: ${problem}` });
  }
}

/** The names of the headers, as they are shown. */
export function headerNames(headers: Readonly<Record<string, string>>): string[] {
  return Object.keys(headers).map((name) => name.toLowerCase());
}
