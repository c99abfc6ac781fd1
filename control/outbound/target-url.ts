// The target URL of a subscription: its field in requests, and the allowed values. Used by the routes of subscriptions.
import Type from '#core/typebox/typebox.mjs';
import { urlProblem } from '#core/outbound/post.ts';
import { ApiError } from '../http/errors.ts';

/** Request field with the URL. */
export const TargetUrl = Type.String({ maxLength: 2048 });

/** Request field that allows http and private addresses; only operators may set it. */
export const AllowPrivate = Type.Optional(
  Type.Boolean({ description: 'Allows http and private addresses; operators only' }),
);

/**
 * Checks a URL. The addresses of the host name are checked for each connection (core/outbound/post.ts).
 *
 * @param field the field of the request, for the error. @throws {ApiError} `bad_request`.
 */
export function checkTargetUrl(field: string, url: string, isPrivate: boolean): void {
  const problem = urlProblem(url, isPrivate);
  if (problem !== null) throw new ApiError('bad_request', { reason: `${field}: ${problem}` });
}
