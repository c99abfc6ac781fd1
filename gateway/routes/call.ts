// One call in the routes: its caller, its candidate models, and the headers of its response.
import type { KeptAnswers } from '../answers/answer-store.ts';
import { isList, type Json } from '../contract/chat.ts';
import type { AdmittedCall } from '../contract/contract.ts';
import { GatewayError } from '../contract/errors.ts';
import { HOPS_HEADER, type CallContext } from '../providers/call.ts';
import type { RefusedFields } from '../providers/refused-fields.ts';
import { type Target, nameOf } from '../contract/wire.ts';
import type { Tried } from '../routing/attempts.ts';
import type { CircuitBreaker } from '../routing/circuit-breaker.ts';
import { headerText, targetsOf } from '../routing/model-names.ts';
import { readModel, wrong } from '../contract/request-body.ts';

const HOPS_MAX = 3;
const TIMEOUT_HEADER = 'x-platform-timeout-ms';
const FALLBACKS_HEADER = 'x-platform-fallbacks';

/** A call, with the shared dependencies. */
export interface Call extends AdmittedCall {
  readonly breaker: CircuitBreaker;
  readonly refusedFields: RefusedFields;
  readonly kept: KeptAnswers;
  /** Abort functions of the open streams, called when the gateway closes. */
  readonly open: Set<(error: GatewayError) => void>;
}

/** The state shared by all attempts. @throws {GatewayError} 400 */
export function contextOf({ request, deps }: Call): CallContext {
  const hops = Number(request.headers.get(HOPS_HEADER) ?? 0);
  if (!(hops < HOPS_MAX))
    throw new GatewayError(
      'loop_detected',
      `The request passed through ${HOPS_MAX} gateways: the URL of a provider points back to a gateway`,
    );
  const timeout = request.headers.get(TIMEOUT_HEADER);
  if (timeout !== null && !/^[1-9][0-9]{0,8}$/.test(timeout))
    throw wrong(TIMEOUT_HEADER, 'a whole number of milliseconds');
  return {
    send: deps.send,
    limits: deps.limits,
    signal: request.signal,
    timeoutMs: timeout === null ? null : Number(timeout),
    hops,
  };
}

/** Candidate models in order: the body's model, then its `models`, then the models of the header. */
export async function targetsOfCall({ request, deps, caller }: Call, body: Json): Promise<Target[]> {
  const inBody = isList(body['models']) ? body['models'].map(String) : [];
  const header = request.headers.get(FALLBACKS_HEADER) ?? '';
  const inHeader = header.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));
  const table = await deps.models(caller.organizationId);
  return targetsOf(table, [readModel(body), ...inBody, ...inHeader], deps.limits.modelsMax);
}

/** Response headers. @param upstreamMs the provider's duration. */
export function answerHeaders({ deps, startedAt }: Call, { target, attempts }: Tried<unknown>, upstreamMs: number) {
  const overheadMs = Math.max(0, deps.now() - startedAt - upstreamMs);
  return {
    'x-platform-model': headerText(nameOf(target)),
    'x-platform-attempts': String(attempts),
    'x-platform-overhead-ms': String(Math.round(overheadMs)),
    'openai-processing-ms': String(Math.round(upstreamMs)),
  };
}
