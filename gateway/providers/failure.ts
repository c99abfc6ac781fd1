// A failed attempt at a provider: the error for the client, and whether to retry.
import type { ProviderResponse } from '../contract/contract.ts';
import { GatewayError } from '../contract/errors.ts';
import type { Said } from '../contract/wire.ts';

interface Verdict {
  /** Whether to try the same or another model. */
  readonly isRetryable: boolean;
  /**
   * Whether it indicates a problem of the model rather than of this request: no connection, a timeout, a 5xx status.
   */
  readonly isOutage: boolean;
  readonly retryAfterMs?: number | null;
  /** Whether to retry immediately with a modified request. */
  readonly isAmended?: boolean;
}

export class UpstreamFailure extends Error {
  readonly told: GatewayError;
  readonly isRetryable: boolean;
  readonly isOutage: boolean;
  readonly retryAfterMs: number | null;
  readonly isAmended: boolean;

  constructor(told: GatewayError, { isRetryable, isOutage, retryAfterMs = null, isAmended = false }: Verdict) {
    super(told.message);
    this.told = told;
    this.isRetryable = isRetryable;
    this.isOutage = isOutage;
    this.retryAfterMs = retryAfterMs;
    this.isAmended = isAmended;
  }
}

/** Statuses caused by the request: passed on with the provider's message. */
const ofRequest = new Set([400, 413, 415, 422]);

/** For an error response. */
export function failureOf(name: string, response: ProviderResponse, said: Said): UpstreamFailure {
  const { status } = response;
  const { message, code, type, param } = said;
  // An error about the key may contain a part of it.
  if (status === 401 || status === 403 || said.isKeyRefused === true) {
    const told = new GatewayError('upstream_error', `${name}: the provider refused the key that is configured for it`);
    return new UpstreamFailure(told, { isRetryable: false, isOutage: false });
  }
  if (ofRequest.has(status)) {
    const as = { status: status === 413 ? 413 : 400, code, type: type ?? 'invalid_request_error' };
    return new UpstreamFailure(new GatewayError('invalid_request', message, { param, as }), {
      isRetryable: false,
      isOutage: false,
    });
  }
  if (status === 404) {
    const told = new GatewayError('model_not_found', `${name}: ${message}`, { param: 'model' });
    return new UpstreamFailure(told, { isRetryable: false, isOutage: false });
  }
  const retryAfterMs = retryAfterOf(response.headers) ?? said.retryAfterMs ?? null;
  if (status === 429) {
    const told = new GatewayError('rate_limit_exceeded', `${name}: ${message}`, { retryAfterMs: retryAfterMs ?? 1000 });
    return new UpstreamFailure(told, { isRetryable: true, isOutage: false, retryAfterMs });
  }
  const told = new GatewayError('upstream_error', `${name} answered ${status}: ${message}`, { retryAfterMs });
  const isRetryable = status === 408 || status === 409 || status >= 500;
  return new UpstreamFailure(told, { isRetryable, isOutage: status >= 500, retryAfterMs });
}

/** For an unusable response, which the request itself may have caused. */
export function badAnswer(name: string, what: string): UpstreamFailure {
  return new UpstreamFailure(new GatewayError('upstream_error', `${name}: ${what}`), {
    isRetryable: true,
    isOutage: false,
  });
}

/** For a failed connection, before or during the response. */
export function outage(name: string, what: string, code: 'upstream_error' | 'upstream_timeout' = 'upstream_error') {
  return new UpstreamFailure(new GatewayError(code, `${name}: ${what}`), { isRetryable: true, isOutage: true });
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
