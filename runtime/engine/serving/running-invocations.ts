// The invocations that one isolate runs, and all ways in which they can end: answered, failed, cut off, restarted in
// another isolate, or lost with this isolate. Created by serving.ts, which decides about the isolate itself.
import { performance } from 'node:perf_hooks';
import { errorMessage } from '#core/errors.ts';
import { InFlight } from '#core/in-flight.ts';
import type { Link } from '../bridge/link.ts';
import type { Failure } from '../bridge/protocol.ts';
import { isHttp, type AnyInvocation, type HttpInvocation } from '../invocation/invocation.ts';
import { failed, ok, type Outcome } from '../invocation/outcome.ts';
import type { EngineCounters } from '../metrics/counters.ts';
import type { ServedDeployment } from './served-deployment.ts';

type Failed = Outcome & { kind: 'failed' };

/** The listener stops reading when the response is sent. */
const BODY_GONE: Failure = {
  code: 'invocation_ended',
  name: 'TypeError',
  message: 'The request body can no longer be read: its response has been sent',
};

const CLIENT_GONE: Failure = {
  code: 'client_gone',
  name: 'AbortError',
  message: errorMessage('client_gone'),
};

const NEVER_ENDS = 'The response body will never end: it waits for a promise that can never settle';

export class RunningInvocations {
  #deployment: ServedDeployment;
  #engineCounters: EngineCounters;
  #link: Link;
  /** Called when an invocation has ended, which may have been the last one. */
  #onEnded: () => void;
  #running = new InFlight<AnyInvocation>();
  /** Invocations that ended in the entry that is being read. Their CPU is known when the whole entry is read. */
  #ended: { invocation: AnyInvocation; outcome: Outcome }[] = [];
  /** Whether the records of an entry are being read. */
  #isReading = false;
  /**
   * Number of invocations that hold no request back: those whose response is an open WebSocket, and answered events of
   * objects.
   */
  upgraded = 0;
  #withWorkLeft = 0;
  readonly #workLeftMax: number;
  /**
   * Number of consecutive requests that could never be answered; the worker may have broken a global that responses
   * need.
   */
  unanswered = 0;

  constructor(
    deployment: ServedDeployment,
    engineCounters: EngineCounters,
    link: Link,
    workLeftMax: number,
    onEnded: () => void,
  ) {
    this.#deployment = deployment;
    this.#workLeftMax = workLeftMax;
    this.#engineCounters = engineCounters;
    this.#link = link;
    this.#onEnded = onEnded;
  }

  get size(): number {
    return this.#running.size;
  }

  add(invocation: AnyInvocation): number {
    return this.#running.add(invocation);
  }

  get(id: number): AnyInvocation | undefined {
    return this.#running.get(id);
  }

  /** An invocation that is running, or that ended in the entry that is being read. */
  find(id: number): AnyInvocation | undefined {
    return this.#running.get(id) ?? this.#ended.find((entry) => entry.invocation.id === id)?.invocation;
  }

  /** Running invocations, and those that ended in the entry that is being read. */
  all(): AnyInvocation[] {
    return [...this.#running.values(), ...this.#ended.map(({ invocation }) => invocation)];
  }

  values(): AnyInvocation[] {
    return this.#running.values();
  }

  /** Begins reading an entry. */
  beginReading(): void {
    this.#isReading = true;
  }

  /**
   * Ends reading an entry: invocations that ended in it are completed, and charged for their share.
   *
   * @returns the number of invocations that ended.
   */
  endReading(accounts: { chargeShare(invocation: AnyInvocation, shareMs: number): void }, shareMs: number): number {
    this.#isReading = false;
    const count = this.#ended.length;
    if (count === 0) return 0;
    const now = performance.now();
    for (const { invocation, outcome } of this.#ended) {
      accounts.chargeShare(invocation, shareMs);
      this.#deployment.ends.end(invocation, outcome, now);
    }
    this.#ended.length = 0;
    this.#onEnded();
    return count;
  }

  /** Stops reading the body of its request. */
  breakBody(id: number): void {
    this.#link.breakBody(id, BODY_GONE);
  }

  /** Marks the invocation's response as an open WebSocket. */
  socketOpened(invocation: AnyInvocation): void {
    invocation.isSocketOpen = true;
    this.upgraded++;
    if (invocation.object?.sockets !== undefined) invocation.object.sockets.open++;
  }

  /** Marks the invocation's WebSocket as closed; work started by its `close` event gets the time of a request. */
  socketClosed(invocation: AnyInvocation): void {
    if (!invocation.isSocketOpen) return;
    invocation.isSocketOpen = false;
    invocation.wallFrom = performance.now();
    this.upgraded--;
    if (invocation.object?.sockets !== undefined) invocation.object.sockets.open--;
  }

  /** Called when an event of an object was answered, and continues. */
  workLeft(invocation: AnyInvocation): void {
    if (invocation.hasWorkLeft || this.#withWorkLeft >= this.#workLeftMax) return;
    invocation.hasWorkLeft = true;
    this.#withWorkLeft++;
    this.upgraded++;
  }

  #workEnded(invocation: AnyInvocation): void {
    if (!invocation.hasWorkLeft) return;
    invocation.hasWorkLeft = false;
    this.#withWorkLeft--;
    this.upgraded--;
  }

  /** Ends an invocation with the outcome, in the entry that is being read. */
  end(id: number, outcome: Outcome): void {
    const invocation = this.#running.remove(id);
    if (invocation === undefined) return;
    this.#workEnded(invocation);
    this.breakBody(id);
    const isUnheard = outcome.kind === 'ok' && invocation.isClientGone;
    this.#ended.push({ invocation, outcome: isUnheard ? failed('client_gone') : outcome });
    if (outcome.kind === 'ok') this.#link.closeSockets(1001, '', id);
    else {
      const reason = errorMessage(outcome.code, outcome.details).slice(0, 100);
      this.#link.closeSockets(outcome.code === 'isolate_replaced' ? 1012 : 1011, reason, id);
    }
    this.socketClosed(invocation);
  }

  /** Sends the failure to the client. `waitUntil` work continues. */
  fail(invocation: HttpInvocation, outcome: Failed): void {
    this.#deployment.ends.answerFailed(invocation, outcome);
    this.breakBody(invocation.id);
  }

  /**
   * Ends the remaining work of an object's answered events, when newer code or another engine waits for the object.
   *
   * @param id the object; null for all objects.
   */
  leaveWork(id: string | null): void {
    for (const { id: number, object, phase } of this.#running.values())
      if (object !== null && phase === 'answered' && (id === null || object.address.id === id))
        this.#link.leaveWork(number);
  }

  /** Ends an invocation from outside, regardless of what its code does. */
  endNow(invocation: AnyInvocation, outcome: Failed, socketReason: string): void {
    const { id } = invocation;
    if (this.#running.remove(id) === undefined) return;
    this.#workEnded(invocation);
    const message = errorMessage(outcome.code, outcome.details);
    this.#link.abort(id, { code: outcome.code, name: 'TimeoutError', message });
    this.#link.cancelStream(id);
    this.#link.closeSockets(1011, socketReason, id);
    this.socketClosed(invocation);
    if (this.#isReading) this.#ended.push({ invocation, outcome });
    else {
      this.#deployment.ends.end(invocation, outcome);
      this.#onEnded();
    }
  }

  /**
   * Called when the client disconnected: `request.signal` fires, a streamed response is cancelled, and the handler and
   * its `waitUntil` work run to their end.
   */
  clientGone(invocation: HttpInvocation): void {
    const { id, phase } = invocation;
    if (phase === 'over') return;
    if (phase !== 'answered') invocation.isClientGone = true;
    // An invocation that will run in another isolate is registered there.
    if (this.#running.get(id) !== invocation) return;
    this.#link.clientGone(id, CLIENT_GONE);
    if (phase === 'answered') this.#link.cancelStream(id);
  }

  /**
   * Restarts a request in a fresh isolate; if it may have had an effect, it fails as lost instead.
   *
   * @param counted how many of its allowed restarts this one uses.
   */
  restart(id: number, counted: 0 | 1): void {
    const invocation = this.#running.get(id);
    if (invocation === undefined) return;
    if (invocation.isClientGone) {
      this.end(id, failed('client_gone'));
      return;
    }
    if (!mayRestart(invocation)) {
      this.end(id, failed('isolate_replaced', { reason: 'another request used up its CPU budget' }));
      return;
    }
    this.#running.remove(id);
    invocation.restarts += counted;
    invocation.lostCpuMs = invocation.cpuMs;
    this.#engineCounters.restartedRequests++;
    invocation.phase = 'waiting';
    this.#deployment.restart(invocation);
  }

  /** Ends an invocation that can never be answered. */
  endHung(id: number): void {
    const invocation = this.#running.get(id);
    if (invocation === undefined) return;
    if (invocation.phase === 'running') {
      this.#deployment.log('error', errorMessage('never_answered'), invocation);
      this.unanswered++;
    }
    const isReceiving = this.#link.isReceiving(id);
    if (invocation.phase === 'answered' && isReceiving) this.#deployment.log('error', NEVER_ENDS, invocation);
    // After the response, only `waitUntil` remains, which can never settle, so nothing is lost when the invocation
    // ends.
    this.end(id, invocation.phase === 'answered' && !isReceiving ? ok : failed('never_answered'));
  }

  /** Ends invocations over their wall limit. */
  endLate(now: number, limits: { readonly wallMs: number; readonly eventWallMs: number }): void {
    for (const invocation of this.#running.values()) {
      const limitMs = invocation.wallMsMax || (isHttp(invocation) ? limits.wallMs : limits.eventWallMs);
      if (invocation.isSocketOpen || now - invocation.wallFrom < limitMs) continue;
      this.#deployment.log('error', errorMessage('wall_limit_exceeded', { limitMs }), invocation);
      this.endNow(invocation, failed('wall_limit_exceeded', { limitMs }), 'Wall limit exceeded');
    }
  }

  /** Called when the isolate was disposed: every running invocation ends with the outcome. */
  endAll(outcome: Outcome, ofEvents: Outcome): void {
    for (const invocation of this.#running.values()) {
      this.#running.remove(invocation.id);
      this.#deployment.ends.end(invocation, isHttp(invocation) ? outcome : ofEvents);
    }
    // First come the invocations that ended before the malformed record.
    for (const ended of this.#ended.splice(0)) this.#deployment.ends.end(ended.invocation, ended.outcome);
  }
}

function mayRestart(invocation: AnyInvocation): boolean {
  if (!isHttp(invocation) || invocation.object !== null) return false;
  const { method, bodyBytes } = invocation.answer;
  return (
    invocation.phase === 'running' &&
    invocation.calls === 0 &&
    invocation.restarts === 0 &&
    bodyBytes === 0 &&
    (method === 'GET' || method === 'HEAD' || method === 'OPTIONS')
  );
}
