// Tries models in turn, each several times, until one answers: only while nothing was answered, and only after failures
// that another attempt may not have.
import { setTimeout as pause } from 'node:timers/promises';
import type { GatewayLimits } from '#core/limits.ts';
import type { Caller } from '../contract/contract.ts';
import { GatewayError, retryAfter } from '../contract/errors.ts';
import { UpstreamFailure } from '../providers/failure.ts';
import { type Target, nameOf } from '../contract/wire.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { headerText } from './model-names.ts';

/** Ways that a request can be put in, one after the other. */
const AMENDED_MAX = 4;
/** However long a provider wants to be left alone. */
const LEFT_ALONE_MS_MAX = 60_000;

/** An answer, and what it took. */
export interface Tried<Answer> {
  readonly target: Target;
  readonly answer: Answer;
  readonly attempts: number;
}

interface Parts<Answer> {
  readonly targets: readonly Target[];
  /** @throws {UpstreamFailure} */
  readonly attempt: (target: Target) => Promise<Answer>;
  readonly breaker: CircuitBreaker;
  readonly caller: Caller;
  readonly limits: GatewayLimits;
  /** Of the client. */
  readonly signal: AbortSignal;
}

/** @throws {GatewayError} of the last attempt. */
export async function tryInTurn<Answer>(parts: Parts<Answer>): Promise<Tried<Answer>> {
  const { targets, breaker, limits, signal } = parts;
  let attempts = 0;
  let amended = 0;
  let told: GatewayError | null = null;
  for (const target of targets) {
    const circuit = circuitOf(parts.caller, target);
    for (let retry = 0; retry <= limits.retriesMax; retry += 1) {
      const waitMs = breaker.wait(circuit);
      if (waitMs > 0) {
        told ??= leftAlone(target, waitMs);
        break;
      }
      attempts += 1;
      try {
        const answer = await parts.attempt(target);
        breaker.succeeded(circuit);
        return { target, answer, attempts };
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) throw error;
        if (error.isOutage) breaker.failed(circuit, Math.min(error.retryAfterMs ?? 0, LEFT_ALONE_MS_MAX));
        // It answered, if only to refuse: a client that waited for less says nothing of it.
        else if (error.told.code !== 'upstream_timeout') breaker.succeeded(circuit);
        told = error.told;
        const openMs = breaker.left(circuit);
        if (openMs > 0) told.with(retryAfter(openMs));
        told.with({ 'x-platform-attempts': String(attempts), 'x-platform-model': headerText(nameOf(target)) });
        if (error.isAmended && amended < AMENDED_MAX) {
          amended += 1;
          retry -= 1;
          continue;
        }
        if (!error.isRetryable) throw told;
        const pauseMs = error.retryAfterMs ?? limits.retryPauseMs * 2 ** retry;
        if (pauseMs > limits.retryAfterMsMax || retry === limits.retriesMax) break;
        await pauseUnlessGone(pauseMs, signal);
      }
    }
  }
  throw told!.with({ 'x-platform-attempts': String(attempts) });
}

/** What one project's calls find out of a model is held against nothing else: no other model, and no other project. */
function circuitOf({ organizationId, projectId, keyId }: Caller, { provider, model }: Target): string {
  return JSON.stringify([organizationId, projectId ?? keyId ?? null, provider.name, provider.url, model]);
}

function leftAlone(target: Target, waitMs: number): GatewayError {
  const message = `${nameOf(target)}: the model could not be reached several times in a row and is left alone for a moment`;
  return new GatewayError('upstream_error', message, { retryAfterMs: waitMs });
}

async function pauseUnlessGone(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(ms, undefined, { signal });
  } catch {
    throw new GatewayError('client_gone', 'The client closed the connection');
  }
}
