// Tries models in order, each several times, until one answers. Stops when a response has begun, or after a failure
// that a retry would not avoid.
import { setTimeout as pause } from 'node:timers/promises';
import type { GatewayLimits } from '#core/limits.ts';
import type { Caller } from '../contract/contract.ts';
import { GatewayError, retryAfter } from '../contract/errors.ts';
import { type Target, nameOf } from '../contract/wire.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { headerText } from './model-names.ts';

/** Maximum variants of a request, tried one after the other. */
const AMENDED_MAX = 4;
/** Maximum pause of a circuit that a provider may request. */
const LEFT_ALONE_MS_MAX = 60_000;

/** A response, with its attempts. */
export interface Tried<Answer> {
  readonly target: Target;
  readonly answer: Answer;
  readonly attempts: number;
}

interface Deps<Answer> {
  readonly targets: readonly Target[];
  /** @throws {GatewayError} */
  readonly attempt: (target: Target) => Promise<Answer>;
  readonly breaker: CircuitBreaker;
  readonly caller: Caller;
  readonly limits: GatewayLimits;
  /** Abort signal of the client. */
  readonly signal: AbortSignal;
}

/** @throws {GatewayError} of the last attempt. */
export async function tryInTurn<Answer>(deps: Deps<Answer>): Promise<Tried<Answer>> {
  const { targets, breaker, limits, signal } = deps;
  let attempts = 0;
  let amended = 0;
  let gatewayError: GatewayError | null = null;
  for (const target of targets) {
    const circuit = circuitOf(deps.caller, target);
    for (let retry = 0; retry <= limits.retriesMax; retry += 1) {
      const waitMs = breaker.wait(circuit);
      if (waitMs > 0) {
        gatewayError ??= leftAlone(target, waitMs);
        break;
      }
      attempts += 1;
      try {
        const answer = await deps.attempt(target);
        breaker.succeeded(circuit);
        return { target, answer, attempts };
      } catch (error) {
        const upstream = error instanceof GatewayError ? error.details.upstream : undefined;
        if (upstream === undefined) throw error;
        gatewayError = error as GatewayError;
        if (upstream.isOutage) breaker.failed(circuit, Math.min(upstream.retryAfterMs ?? 0, LEFT_ALONE_MS_MAX));
        // The model answered, if only to refuse. A client's short timeout says nothing about the model.
        else if (gatewayError.code !== 'upstream_timeout') breaker.succeeded(circuit);
        const openMs = breaker.left(circuit);
        if (openMs > 0) gatewayError.with(retryAfter(openMs));
        gatewayError.with({ 'x-platform-attempts': String(attempts), 'x-platform-model': headerText(nameOf(target)) });
        if (upstream.isAmended === true && amended < AMENDED_MAX) {
          amended += 1;
          retry -= 1;
          continue;
        }
        if (!upstream.isRetryable) throw gatewayError;
        const pauseMs = upstream.retryAfterMs ?? limits.retryPauseMs * 2 ** retry;
        if (pauseMs > limits.retryAfterMsMax || retry === limits.retriesMax) break;
        await pauseUnlessGone(pauseMs, signal);
      }
    }
  }
  throw gatewayError!.with({ 'x-platform-attempts': String(attempts) });
}

/** Circuit of a model and project: failures of one project's calls affect no other model and no other project. */
function circuitOf({ organizationId, projectId, keyId }: Caller, { provider, model }: Target): string {
  return JSON.stringify([organizationId, projectId ?? keyId ?? null, provider.name, provider.url, model]);
}

function leftAlone(target: Target, waitMs: number): GatewayError {
  const message = `${nameOf(target)}: the model failed several times in a row, and gets no calls until Retry-After`;
  return new GatewayError('upstream_error', message, { retryAfterMs: waitMs });
}

async function pauseUnlessGone(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(ms, undefined, { signal });
  } catch {
    throw new GatewayError('client_gone', 'The client closed the connection');
  }
}
