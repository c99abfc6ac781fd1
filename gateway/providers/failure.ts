// A failed attempt at a provider: the error for the client, and whether to retry.
import type { ProviderResponse } from '../contract/contract.ts';
import {
  GatewayError,
  type GatewayErrorCode,
  type GatewayErrorDetails,
  type UpstreamVerdict,
} from '../contract/errors.ts';
import type { Said } from '../contract/wire.ts';

/** An error of an attempt at a provider. */
function attemptError(
  code: GatewayErrorCode,
  message: string,
  upstream: UpstreamVerdict,
  details: Omit<GatewayErrorDetails, 'upstream'> = {},
): GatewayError {
  return new GatewayError(code, message, { ...details, upstream });
}

/** A retry would not help, and the failure does not indicate a problem of the model. */
const FINAL: UpstreamVerdict = { isRetryable: false, isOutage: false };

/** Statuses of errors in the request, which are passed on with the provider's message. */
const ofRequest = new Set([400, 413, 415, 422]);

/** The failure of an error response. */
export function failureOf(name: string, response: ProviderResponse, said: Said): GatewayError {
  const { status } = response;
  const { message, code, type, param } = said;
  // An error about the key may contain a part of the key.
  if (status === 401 || status === 403 || said.isKeyRefused === true)
    return attemptError('upstream_error', `${name}: the provider rejected the configured key`, FINAL);
  if (ofRequest.has(status)) {
    const as = { status: status === 413 ? 413 : 400, code, type: type ?? 'invalid_request_error' };
    return attemptError('invalid_request', message, FINAL, { param, as });
  }
  if (status === 404) return attemptError('model_not_found', `${name}: ${message}`, FINAL, { param: 'model' });
  const retryAfterMs = retryAfterOf(response.headers) ?? said.retryAfterMs ?? null;
  if (status === 429) {
    const verdict = { isRetryable: true, isOutage: false, retryAfterMs };
    return attemptError('rate_limit_exceeded', `${name}: ${message}`, verdict, { retryAfterMs: retryAfterMs ?? 1000 });
  }
  const isRetryable = status === 408 || status === 409 || status >= 500;
  const verdict = { isRetryable, isOutage: status >= 500, retryAfterMs };
  return attemptError('upstream_error', `${name} answered ${status}: ${message}`, verdict, { retryAfterMs });
}

/** The failure of an unusable response, which the request itself may have caused. */
export function badAnswer(name: string, what: string): GatewayError {
  return attemptError('upstream_error', `${name}: ${what}`, { isRetryable: true, isOutage: false });
}

/** The failure of a connection, before or during the response. */
export function outage(name: string, what: string): GatewayError {
  return attemptError('upstream_error', `${name}: ${what}`, { isRetryable: true, isOutage: true });
}

/**
 * The failure of a provider that sends no data. @param isOwn whether the client set the timeout: then there is no
 * retry, and the provider is not at fault.
 */
export function timeout(name: string, ms: number, isOwn: boolean): GatewayError {
  const message = `${name}: the provider sent nothing for ${ms} ms`;
  return attemptError('upstream_timeout', message, isOwn ? FINAL : { isRetryable: true, isOutage: true });
}

function retryAfterOf(headers: ProviderResponse['headers']): number | null {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const text = headers.get('retry-after');
  if (text === null) return null;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}
