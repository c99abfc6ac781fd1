// An attempt at a provider that gave no answer: what its client is told, and whether it is worth another attempt.
import type { ProviderResponse } from '../contract/contract.ts';
import { GatewayError } from '../contract/errors.ts';
import type { Said } from '../contract/wire.ts';

interface Verdict {
  /** Whether the same or another model may do better. */
  readonly isRetryable: boolean;
  /** Whether it speaks against the model, rather than for the one request: no connection, silence, a status of 5xx. */
  readonly isOutage: boolean;
  readonly retryAfterMs?: number | null;
  /** Whether the same request, put in another way, may do at once. */
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

/** Statuses that speak of the request: passed on with what was said. */
const ofRequest = new Set([400, 413, 415, 422]);

/** Of an answer with a bad status. */
export function failureOf(name: string, response: ProviderResponse, said: Said): UpstreamFailure {
  const { status } = response;
  const { message, code, type, param } = said;
  // What a provider says of a key may hold a part of it.
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

/** Of an answer that cannot be used, which may be the request's own fault. */
export function badAnswer(name: string, what: string): UpstreamFailure {
  return new UpstreamFailure(new GatewayError('upstream_error', `${name}: ${what}`), {
    isRetryable: true,
    isOutage: false,
  });
}

/** Of no answer, or of half of one: the connection failed. */
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
