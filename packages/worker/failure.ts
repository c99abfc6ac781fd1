// Failures as responses: errors that a handler throws on purpose, and the JSON bodies of the app's own refusals.
import type { Issue } from './json-check.ts';
import type { ErrorBody } from './route-types.ts';
import type { HeadersLike } from './web-types.ts';

/**
 * An error with its response. Thrown in a handler or middleware, it becomes `{ error: message }` with that status.
 *
 * @example throw new HttpError(404, 'No such user');
 * @example throw new HttpError(409, 'Taken', { code: 'name_taken', headers: { 'retry-after': '5' } });
 */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  /** Status of the response, 400 to 599. */
  readonly status: number;
  /** An error code for programs, `code` in the response. */
  readonly code: string | undefined;
  readonly headers: HeadersLike | undefined;
  readonly issues: ErrorBody['issues'];

  constructor(
    status: number,
    message: string,
    options: { code?: string; headers?: HeadersLike; issues?: ErrorBody['issues']; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    if (!Number.isInteger(status) || status < 400 || status > 599)
      throw new RangeError(`An HttpError's status is 400 to 599, not ${status}`);
    this.status = status;
    this.code = options.code;
    this.headers = options.headers;
    this.issues = options.issues;
  }

  /** The response. */
  toResponse(): Response {
    const { message: error, code, issues, status, headers } = this;
    const body: ErrorBody = {
      error,
      ...(code === undefined ? {} : { code }),
      ...(issues === undefined ? {} : { issues }),
    };
    return Response.json(body, headers === undefined ? { status } : { status, headers });
  }
}

/** The part of a request that a schema validated. */
export type RequestPart = 'params' | 'query' | 'headers' | 'body';

/** 400 with the problems; values are never repeated. */
export function invalidRequest(issues: readonly Issue[], part: RequestPart): HttpError {
  return new HttpError(400, 'Validation failed', {
    issues: issues.map(({ path, message }) => ({ path, message, in: part })),
  });
}

/** An event whose payload does not match its schema. A retry cannot help. */
export function invalidEvent(what: string, issues: readonly Issue[]): Error {
  const list = issues.map(({ path, message }) => `${path.join('.') || 'the value'}: ${message}`).join('; ');
  const error = new Error(`${what} does not fit its schema: ${list}`);
  error.name = 'NonRetryableError';
  return error;
}
