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
    requestId: {
      type: 'string',
      description: 'As in X-Request-Id: the log of the platform has the details under this id',
    },
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
export function failureOf(error: unknown, failed: Failed): Response {
  const { shown, issues } = shownOf(error, failed);
  const fields = failed.route?.startsWith('/oauth/') === true ? oauthFields(shown) : {};
  return failure(shown, failed.requestId, { ...fields, ...(issues !== undefined && { issues }) });
}

/** The part of an error that a client sees. */
interface Shown {
  readonly shown: ApiError;
  readonly issues?: HttpError['issues'];
}

function shownOf(error: unknown, { log, requestId, method, route }: Failed): Shown {
  if (error instanceof ApiError) return { shown: error };
  if (error instanceof HttpError) return ofFramework(error, method);
  if (isTextRefused(error))
    return { shown: new ApiError('bad_request', { reason: 'A text contains U+0000 or an unpaired surrogate' }) };
  if (isDatabaseAway(error)) {
    log.warn({ err: error, requestId, route }, 'Request failed: the database is unavailable');
    const reason = 'The database of the platform is unavailable: try again';
    return { shown: new ApiError('unavailable', { reason }, { 'retry-after': '1' }) };
  }
  log.error({ err: error, requestId, route }, 'Request failed');
  return { shown: new ApiError('internal') };
}

/** Fields of RFC 6749, which clients of OAuth read. A device that polls too often waits longer (RFC 8628). */
function oauthFields({ status, message }: ApiError): { error: string; error_description: string } {
  const byStatus: Readonly<Record<number, string>> = { 429: 'slow_down', 503: 'temporarily_unavailable' };
  const error = byStatus[status] ?? (status < 500 ? 'invalid_request' : 'server_error');
  return { error, error_description: message };
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
function ofFramework(error: HttpError, method: string): Shown {
  const headers = Object.fromEntries(new Headers(error.headers as Record<string, string>));
  const { issues, status } = error;
  if (status === 404) return { shown: new ApiError('not_found') };
  if (status === 405) return { shown: new ApiError('method_not_allowed', { method }, headers) };
  if (status === 413) return { shown: new ApiError('payload_too_large', { allowed: bytesOf(error.message) }, headers) };
  if (status === 415) return { shown: new ApiError('unsupported_media_type', { reason: error.message }, headers) };
  const [first] = issues ?? [];
  const where = first === undefined ? '' : `${first.in}${first.path.map((part) => `.${part}`).join('')}: `;
  const reason = first === undefined ? error.message : `${where}${first.message}`;
  return { shown: new ApiError('bad_request', { reason }), ...(issues !== undefined && { issues }) };
}

function bytesOf(message: string): string {
  return /\d+/.exec(message)?.[0] ?? '1048576';
}
