// The invocations that one isolate runs, and every way they end there: answered, failed, cut off, begun again in
// another isolate, or lost with their own. Made by serving.ts; what becomes of the isolate itself is decided there.
import { performance } from 'node:perf_hooks';
import { errorMessage } from '#core/errors.ts';
import { InFlight } from '#core/in-flight.ts';
import type { Link } from '../bridge/link.ts';
import type { Failure } from '../bridge/protocol.ts';
import { isHttp, type AnyInvocation, type HttpInvocation } from '../invocation/invocation.ts';
import { failed, ok, type Outcome } from '../invocation/outcome.ts';
import type { EngineCounters } from '../metrics/counters.ts';
import type { ServedDeployment } from './config.ts';

type Failed = Outcome & { kind: 'failed' };

/** The listener reads no further once the response is out. */
const BODY_GONE: Failure = {
  code: 'invocation_ended',
  name: 'TypeError',
  message: 'The request body can no longer be read: its response is out',
};

const CLIENT_GONE: Failure = {
  code: 'client_gone',
  name: 'AbortError',
  message: errorMessage('client_gone'),
};

const NEVER_ENDS = "The response's body can never end: nothing it waits for is pending";

export class RunningInvocations {
  #deployment: ServedDeployment;
  #engineCounters: EngineCounters;
  #link: Link;
  /** An invocation has ended: it may have been the last one. */
  #onEnded: () => void;
  #running = new InFlight<AnyInvocation>();
  /** Ended in the entry being read: their CPU is known when all of it is read. */
  #ended: { invocation: AnyInvocation; outcome: Outcome }[] = [];
  /** An entry's answer is being read. */
  #isReading = false;
  /** Those whose response is an open WebSocket. */
  upgraded = 0;
  /** Requests in a row that could never be answered: the worker may have broken what answers are made with. */
  unanswered = 0;

  constructor(deployment: ServedDeployment, engineCounters: EngineCounters, link: Link, onEnded: () => void) {
    this.#deployment = deployment;
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

  /** One that runs, or ended in the entry being read. */
  find(id: number): AnyInvocation | undefined {
    return this.#running.get(id) ?? this.#ended.find((entry) => entry.invocation.id === id)?.invocation;
  }

  /** Those that run, and those that ended in the entry being read. */
  all(): AnyInvocation[] {
    return [...this.#running.values(), ...this.#ended.map(({ invocation }) => invocation)];
  }

  values(): AnyInvocation[] {
    return this.#running.values();
  }

  /** An entry's answer follows. */
  beginReading(): void {
    this.#isReading = true;
  }

  /**
   * All of it is read: what ended in it is over, and charged its share of the entry.
   *
   * @returns how many there were.
   */
  endReading(accounts: { chargeShare(invocation: AnyInvocation, shareMs: number): void }, shareMs: number): number {
    this.#isReading = false;
    const count = this.#ended.length;
    if (count === 0) return 0;
    const now = performance.now();
    for (const { invocation, outcome } of this.#ended) {
      accounts.chargeShare(invocation, shareMs);
      this.#deployment.end(invocation, outcome, now);
    }
    this.#ended.length = 0;
    this.#onEnded();
    return count;
  }

  /** The body of its request is not read any further. */
  breakBody(id: number): void {
    this.#link.breakBody(id, BODY_GONE);
  }

  /** Its response is an open WebSocket from now on. */
  socketOpened(invocation: AnyInvocation): void {
    invocation.isSocketOpen = true;
    this.upgraded++;
  }

  /** That is closed; what its `close` event began has the time of a request. */
  socketClosed(invocation: AnyInvocation): void {
    if (!invocation.isSocketOpen) return;
    invocation.isSocketOpen = false;
    invocation.wallFrom = performance.now();
    this.upgraded--;
  }

  /** Ends an invocation as the entry being read says. */
  end(id: number, outcome: Outcome): void {
    const invocation = this.#running.remove(id);
    if (invocation === undefined) return;
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

  /** Answers the client with the failure. What `waitUntil` was given goes on. */
  fail(invocation: HttpInvocation, outcome: Failed): void {
    this.#deployment.answerFailed(invocation, outcome);
    this.breakBody(invocation.id);
  }

  /** Ends an invocation from outside, whatever its code does. */
  endNow(invocation: AnyInvocation, outcome: Failed, socketReason: string): void {
    const { id } = invocation;
    if (this.#running.remove(id) === undefined) return;
    const message = errorMessage(outcome.code, outcome.details);
    this.#link.abort(id, { code: outcome.code, name: 'TimeoutError', message });
    this.#link.cancelStream(id);
    this.#link.closeSockets(1011, socketReason, id);
    this.socketClosed(invocation);
    if (this.#isReading) this.#ended.push({ invocation, outcome });
    else {
      this.#deployment.end(invocation, outcome);
      this.#onEnded();
    }
  }

  /**
   * Its client is gone: `request.signal` fires, a streamed response is cancelled, and the handler runs on to its end,
   * with what it gives to `waitUntil`.
   */
  clientGone(invocation: HttpInvocation): void {
    const { id, phase } = invocation;
    if (phase === 'over') return;
    if (phase !== 'answered') invocation.isClientGone = true;
    // One that is about to run in another isolate is found there.
    if (this.#running.get(id) !== invocation) return;
    this.#link.clientGone(id, CLIENT_GONE);
    if (phase === 'answered') this.#link.cancelStream(id);
  }

  /**
   * Runs a request again in a fresh isolate; one that may have had an effect is answered that it is lost.
   *
   * @param counted how many of the restarts it may have this one uses up.
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

  /** Ends one that can never answer. */
  endHung(id: number): void {
    const invocation = this.#running.get(id);
    if (invocation === undefined) return;
    if (invocation.phase === 'running') {
      this.#deployment.log('error', errorMessage('never_answered'), invocation);
      this.unanswered++;
    }
    const isReceiving = this.#link.isReceiving(id);
    if (invocation.phase === 'answered' && isReceiving) this.#deployment.log('error', NEVER_ENDS, invocation);
    // After the answer there is only `waitUntil`, which can never settle: nothing is lost by ending it.
    this.end(id, invocation.phase === 'answered' && !isReceiving ? ok : failed('never_answered'));
  }

  /** Ends what is over its wall limit. */
  endLate(now: number, limits: { readonly wallMs: number; readonly eventWallMs: number }): void {
    for (const invocation of this.#running.values()) {
      const limitMs = isHttp(invocation) ? limits.wallMs : limits.eventWallMs;
      if (invocation.isSocketOpen || now - invocation.wallFrom < limitMs) continue;
      this.#deployment.log('error', errorMessage('wall_limit_exceeded', { limitMs }), invocation);
      this.endNow(invocation, failed('wall_limit_exceeded', { limitMs }), 'Wall limit exceeded');
    }
  }

  /** The isolate is gone: whatever runs ends with the outcome. */
  endAll(outcome: Outcome, ofEvents: Outcome): void {
    for (const invocation of this.#running.values()) {
      this.#running.remove(invocation.id);
      this.#deployment.end(invocation, isHttp(invocation) ? outcome : ofEvents);
    }
    // Those that ended in an answer which makes no sense further on.
    for (const ended of this.#ended.splice(0)) this.#deployment.end(ended.invocation, ended.outcome);
  }
}

function mayRestart(invocation: AnyInvocation): boolean {
  if (!isHttp(invocation)) return false;
  const { method, bodyBytes } = invocation.answer;
  return (
    invocation.phase === 'running' &&
    invocation.calls === 0 &&
    invocation.restarts === 0 &&
    bodyBytes === 0 &&
    (method === 'GET' || method === 'HEAD' || method === 'OPTIONS')
  );
}
