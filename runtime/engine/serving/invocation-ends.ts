// Ends a deployment's invocations: sends the response that a failed request still needs, and updates counters,
// telemetry and log. Made by deployment.ts. Hot path.
import { performance } from 'node:perf_hooks';
import { thrownIn } from '../invocation/event-record.ts';
import { isHttp, type AnyInvocation, type HttpInvocation } from '../invocation/invocation.ts';
import type { StackMapper } from '../invocation/log.ts';
import { failed, isFailure, ok, type Outcome } from '../invocation/outcome.ts';
import type { RequestRecord } from '../invocation/request-record.ts';
import type { DeploymentTelemetry } from '../telemetry/recorder.ts';
import type { DeploymentConfig, ServingDeps } from './config.ts';
import { answerFailedRequest, type Explain, type FailedRequestDeps } from './failed-requests.ts';

/** Dependencies of ending invocations. */
export interface InvocationEndsDeps extends Pick<ServingDeps, 'counters' | 'usage' | 'sendErrorPage'> {
  /** The telemetry of the deployment; null if it is off, and only the log is written. */
  readonly telemetry: DeploymentTelemetry | null;
  /** Receives the record of each invocation; null without a receiver, so that no record is created. */
  readonly onRequest: ((record: RequestRecord) => void) | null;
  /** Whether `onRequest` also receives successful requests. */
  readonly recordsAll: boolean;
  /**
   * Creates responses with details for the author of the worker; null if responses only have details that visitors may
   * see.
   */
  readonly explain: Explain | null;
}

export class InvocationEnds {
  #config: DeploymentConfig;
  #deps: InvocationEndsDeps;
  #failedRequests: FailedRequestDeps;
  #events: { lastUsedAt: number };

  /** @param events the lane of the deployment's events. */
  constructor(config: DeploymentConfig, mapper: StackMapper, events: { lastUsedAt: number }, deps: InvocationEndsDeps) {
    const { explain, sendErrorPage } = deps;
    this.#config = config;
    this.#deps = deps;
    this.#failedRequests = { config, mapper, explain, sendErrorPage };
    this.#events = events;
  }

  /** Ends an invocation: sends a response if none was sent, and writes the record. */
  end(invocation: AnyInvocation, ending: Outcome, now = performance.now()): void {
    if (invocation.phase === 'over') return;
    let outcome: Outcome = invocation.failure ?? ending;
    let method = '';
    let target = '';
    let requestId = '';
    if (isHttp(invocation)) {
      ({ method, target, requestId } = invocation.answer);
      if (outcome.kind === 'failed' && invocation.failure === null)
        answerFailedRequest(invocation, outcome, this.#failedRequests);
      invocation.close();
    } else {
      invocation.close();
      // The outcome is that of the handler's response, regardless of how the work in `waitUntil` ended.
      const { result, onEnd } = invocation.answer;
      this.#events.lastUsedAt = now;
      onEnd({ outcome: result === null ? outcome : ok, result, cpuMs: invocation.totalCpuMs });
      const thrown = outcome.kind === 'ok' ? thrownIn(result) : null;
      if (thrown !== null) outcome = failed('worker_threw', { reason: thrown });
    }
    invocation.object?.socketEvent?.ended(outcome);
    this.#count(invocation, outcome, target, now);
    const { onRequest, recordsAll, telemetry } = this.#deps;
    telemetry?.ended(invocation, outcome, target, now);
    if (onRequest === null || !(recordsAll || isFailure(outcome, invocation.status))) return;
    const { uid } = invocation;
    onRequest({
      kind: invocation.kind,
      invocation: uid,
      traceId: invocation.trace?.traceId ?? null,
      requestId: requestId === '' || requestId === uid ? null : requestId,
      deployment: this.#config.id,
      project: this.#config.project,
      method,
      target,
      status: invocation.status,
      event: invocation.event,
      outcome,
      cpuMs: invocation.totalCpuMs,
      wallMs: now - invocation.startedAt,
    });
  }

  #count(invocation: AnyInvocation, outcome: Outcome, target: string, now: number): void {
    const { kind, status, startedAt, cpuMs, hostCpuMs, cpuBefore, hostCpuBefore } = invocation;
    this.#deps.counters.ended(kind, outcome, status, now - startedAt);
    this.#deps.usage.ended(
      invocation,
      kind === 'http' ? target : (invocation.event?.name ?? ''),
      isFailure(outcome, status),
      cpuMs + hostCpuMs - cpuBefore - hostCpuBefore,
      kind === 'http' ? invocation.firstByteMs(now) : -1,
      invocation.answerMs(now),
    );
  }

  /** Responds to a request whose handler failed while its other work continues. */
  answerFailed(invocation: HttpInvocation, outcome: Outcome & { kind: 'failed' }): void {
    answerFailedRequest(invocation, outcome, this.#failedRequests);
    invocation.failure = outcome;
    invocation.phase = 'answered';
    invocation.firstByteAt = invocation.answeredAt = performance.now();
  }
}
