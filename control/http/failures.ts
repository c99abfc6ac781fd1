// Converts errors to responses, all in the form `{message, code, requestId}`.
import type { Logger } from 'pino';
import { HttpError } from '#packages/worker/index.ts';
import { isConnectionError } from '#postgres/postgres-error.ts';
import { ApiError } from './errors.ts';

/** JSON Schema of error responses. */
export const FailureSchema = {
  type: 'object',
  properties: {
    message: { type: 'string' },
    code: { type: 'string', description: 'For programs' },
    requestId: { type: 'string', description: 'As in X-Request-Id: the log has more under it' },
    issues: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          path: { type: 'array', items: { type: ['string', 'integer'] } },
          message: { type: 'string' },
          in: { type: 'string' },
        },
        required: ['path', 'message', 'in'],
      },
    },
  },
  required: ['message', 'code', 'requestId'],
} as const;

/** The response for an {@link ApiError}. */
export function failure(error: ApiError, requestId: string, more: object = {}): Response {
  const body = { message: error.message, code: error.code, requestId, ...more };
  return Response.json(body, { status: error.status, headers: error.headers });
}

/** The failed request, for the log. */
interface Failed {
  readonly log: Logger;
  readonly requestId: string;
  readonly method: string;
  readonly route: string | null;
}

/** The response for any error; internal details are only logged. */
export function failureOf(error: unknown, { log, requestId, method, route }: Failed): Response {
  if (error instanceof ApiError) return failure(error, requestId);
  if (error instanceof HttpError) return ofFramework(error, requestId, method);
  if (isTextRefused(error))
    return failure(
      new ApiError('bad_request', { reason: 'A text contains U+0000 or half a surrogate pair' }),
      requestId,
    );
  if (isDatabaseAway(error)) {
    log.warn({ err: error, requestId, route }, 'Request failed: the database is unavailable');
    const reason = 'The database of the platform is unavailable: try again';
    return failure(new ApiError('unavailable', { reason }, { 'retry-after': '1' }), requestId);
  }
  log.error({ err: error, requestId, route }, 'Request failed');
  return failure(new ApiError('internal'), requestId);
}

/** Includes connections of the pool that were lost with the server, but not missing files. */
function isDatabaseAway(error: unknown): boolean {
  const { syscall } = (error ?? {}) as { syscall?: unknown };
  return isConnectionError(error) && (syscall === undefined || ['connect', 'read', 'write'].includes(String(syscall)));
}

/** Postgres text cannot contain U+0000, and JSON no unpaired surrogates. */
function isTextRefused(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return code === '22021' || code === '22P05' || (code === '22P02' && /\btype json\b/.test(String(message)));
}

/** Errors thrown by the framework. */
function ofFramework(error: HttpError, requestId: string, method: string): Response {
  const headers = Object.fromEntries(new Headers(error.headers as Record<string, string>));
  const { issues, status } = error;
  if (status === 404) return failure(new ApiError('not_found'), requestId);
  if (status === 405) return failure(new ApiError('method_not_allowed', { method }, headers), requestId);
  if (status === 413)
    return failure(new ApiError('payload_too_large', { allowed: bytesOf(error.message) }, headers), requestId);
  if (status === 415)
    return failure(new ApiError('unsupported_media_type', { reason: error.message }, headers), requestId);
  const [first] = issues ?? [];
  const where = first === undefined ? '' : `${first.in}${first.path.map((part) => `.${part}`).join('')}: `;
  const reason = first === undefined ? error.message : `${where}${first.message}`;
  return failure(new ApiError('bad_request', { reason }), requestId, issues === undefined ? {} : { issues });
}

function bytesOf(message: string): string {
  return /\d+/.exec(message)?.[0] ?? '1048576';
}
