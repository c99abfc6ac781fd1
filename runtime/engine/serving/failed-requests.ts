// The response to a failed request. Visitors get the project's own page, a page of the platform or JSON; in `platform
// dev`, the author of the worker gets an explanation. Called by invocation-ends.ts.
import { errorMessage, PlatformError } from '#core/errors.ts';
import { REFUSED_STATUS } from '#core/object-address.ts';
import { sendFailure, type FailureResponse } from '../http/error-pages.ts';
import type { Exchange } from '../http/listener.ts';
import type { HttpInvocation } from '../invocation/invocation.ts';
import type { SourceFrame, StackMapper } from '../invocation/log.ts';
import { failureResponse, type Outcome } from '../invocation/outcome.ts';
import type { DeploymentConfig, ServingDeps } from './config.ts';

type Failed = Outcome & { kind: 'failed' };

/** Why a request failed, as shown to the author of its worker. */
interface Explained {
  /** The failure in words, without the worker's own message. */
  readonly title: string;
  /** Name of the thrown error. */
  readonly name?: string;
  readonly message: string;
  /** Stack of the error, mapped to the sources. */
  readonly stack: string | null;
  readonly place: SourceFrame | null;
}

/** Creates the response to a failed request. @param plain the response that visitors may see. */
export type Explain = (exchange: Exchange, plain: FailureResponse, failure: Explained) => FailureResponse;

/** Dependencies for one deployment. */
export interface FailedRequestDeps {
  readonly config: DeploymentConfig;
  readonly mapper: StackMapper;
  /**
   * Creates responses with details for the author of the worker; null if responses only have details that visitors may
   * see.
   */
  readonly explain: Explain | null;
  readonly sendErrorPage: ServingDeps['sendErrorPage'];
}

/** Responds to a failed request, unless its client has disconnected; closes the connection if a response has begun. */
export function answerFailedRequest(
  invocation: HttpInvocation,
  outcome: Failed,
  { config, mapper, explain, sendErrorPage }: FailedRequestDeps,
): void {
  const exchange = invocation.answer;
  const session = exchange.callee?.session ?? null;
  if (session !== null) {
    exchange.onAbort = null;
    session.fail(new PlatformError(outcome.code, outcome.details));
    return;
  }
  if (invocation.phase === 'answered' && !invocation.isClientGone) {
    exchange.destroy();
    return;
  }
  const plain = failureResponse(outcome);
  invocation.status = plain.status;
  exchange.onAbort = null;
  if (outcome.code === 'client_gone') {
    invocation.isClientGone = true;
    return;
  }
  if (invocation.object !== null) {
    const { code } = outcome;
    exchange.send(REFUSED_STATUS, '', JSON.stringify({ code, message: errorMessage(code, outcome.details) }));
    return;
  }
  if (explain === null) {
    if (!sendErrorPage(exchange, config, plain)) sendFailure(exchange, plain);
    return;
  }
  const { status, headerBlock, body } = explain(exchange, plain, explained(outcome, mapper));
  exchange.send(status, headerBlock, body);
}

function explained({ code, details, thrown }: Failed, mapper: StackMapper): Explained {
  const { reason = '', ...others } = details;
  const title = errorMessage(code, others).replace(/: \{reason\}$/, '');
  // If a worker does not start, `reason` contains the cause.
  const stack = thrown === undefined ? String(reason) : (thrown.stack ?? '');
  const [said] = mapper.map(String(reason)).split('\n', 1);
  return {
    title,
    message: thrown?.message ?? (said || title),
    ...(thrown !== undefined && { name: thrown.name }),
    stack: stack.includes('\n') ? mapper.map(stack) : null,
    place: mapper.frame(stack),
  };
}
