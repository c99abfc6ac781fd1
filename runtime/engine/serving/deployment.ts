// One deployment on this engine: gives requests to one lane and events to another (lane.ts), each with an isolate of
// its own, and ends them one way or another. handler.ts makes one per deployment it serves.
import { performance } from 'node:perf_hooks';
import { errorMessage, type PlatformError } from '#core/errors.ts';
import type { InvocationKind } from '#core/plans.ts';
import type { EngineMemory, HostMemory } from '../bridge/host-memory.ts';
import type { Part } from '../bridge/protocol.ts';
import type { Delivery } from '../invocation/delivery.ts';
import type { InvocationIds } from '../invocation/invocation-id.ts';
import { eventRecord, thrownIn, type EventRecord } from '../invocation/event-record.ts';
import {
  Invocation,
  isHttp,
  type AnyInvocation,
  type EventInvocation,
  type HttpInvocation,
} from '../invocation/invocation.ts';
import { StackMapper, type LogLine, type SourceFrame } from '../invocation/log.ts';
import {
  failed,
  failureResponse,
  isFailureCode,
  ok,
  type FailureResponse,
  type Outcome,
} from '../invocation/outcome.ts';
import { ServerLane } from '../servers/server-lane.ts';
import type { ServerLink } from '../servers/server-link.ts';
import type { Exchange } from '../http/listener.ts';
import type { DeploymentUsage } from '../metrics/usage.ts';
import { InvocationSpans } from '../telemetry/invocation-spans.ts';
import type { DeploymentTelemetry } from '../telemetry/recorder.ts';
import type { ProxyRequestIds } from '../http/request-id.ts';
import type { BurningInvocation, DeploymentConfig, ServedDeployment } from './config.ts';
import { Lane, type LaneParts } from './lane.ts';
import { collectBody } from './request-body.ts';

/** One invocation's end, for the log and the counters. */
export interface RequestRecord {
  readonly kind: InvocationKind;
  /** Id of the invocation. */
  readonly invocation: string;
  readonly traceId: string | null;
  /** What a trusted proxy calls it; null otherwise. */
  readonly requestId: string | null;
  readonly deployment: string;
  readonly project: string;
  /** Of a request; empty for other events. */
  readonly method: string;
  readonly target: string;
  /** 0 for events that are no requests. */
  readonly status: number;
  /** Of an event that is no request. */
  readonly event: EventRecord | null;
  readonly outcome: Outcome;
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** Why a request failed, as the author of its worker sees it. */
interface Explained {
  /** In words, without what the worker said. */
  readonly title: string;
  /** Of a thrown error. */
  readonly name?: string;
  readonly message: string;
  /** Mapped to the sources. */
  readonly stack: string | null;
  readonly place: SourceFrame | null;
}

/** Makes the response of a failed request. @param plain as visitors may see it. */
export type Explain = (exchange: Exchange, plain: FailureResponse, failure: Explained) => FailureResponse;

/** What deployments are made of. */
export interface DeploymentParts extends LaneParts {
  readonly hostMemory: EngineMemory;
  readonly usage: DeploymentUsage;
  /** Null where nothing is kept of lines and invocations but the log. */
  readonly telemetry: DeploymentTelemetry | null;
  readonly onLog: (deployment: DeploymentConfig, line: LogLine) => void;
  /** Null where nobody listens, so that no record is made. */
  readonly onRequest: ((record: RequestRecord) => void) | null;
  /** Whether `onRequest` wants those that ended well, too. */
  readonly recordsAll: boolean;
  readonly ids: InvocationIds;
  /** Answers failed requests with what their author wants to know; null: as visitors may see it. */
  readonly explain: Explain | null;
  /** Null where no proxy is trusted. */
  readonly proxyRequestId: ProxyRequestIds | null;
  readonly servers: ServerLink;
}

/** What events may hold outside of their isolate: the rest is left for requests. */
const EVENTS_MEMORY_SHARE = 0.75;

/** A deployment with whatever isolates serve it now. */
export class Deployment implements ServedDeployment {
  readonly config: DeploymentConfig;
  readonly hostMemory: HostMemory;
  readonly openSockets = { count: 0 };
  #parts: DeploymentParts;
  #mapper: StackMapper;
  #http: Lane;
  /** Of queues, timers, schedules and workflows: what they burn or break, requests do not wait for. */
  #events: Lane;
  /** Of an ssr project: its requests; null otherwise. */
  #server: ServerLane | null;
  /** Requests it may have while the engine has too many. */
  admitted = Number.POSITIVE_INFINITY;
  #closed = false;
  /** Another one has taken its place: it keeps no isolate for long. */
  #isRetired = false;
  /** What is to be done before the worker is loaded; null when it is. */
  #prepare: (() => Promise<void>) | null;

  constructor(config: DeploymentConfig, parts: DeploymentParts) {
    this.config = config;
    this.hostMemory = parts.hostMemory.open(`${config.project}/${config.id}`);
    this.#prepare = config.prepare ?? null;
    this.#parts = parts;
    this.#mapper = new StackMapper(config.sourceMap);
    this.#http = new Lane(this, parts, 1);
    this.#events = new Lane(this, parts, EVENTS_MEMORY_SHARE);
    const { server: spec = null } = config;
    this.#server = spec === null ? null : new ServerLane(this, { ...parts, link: parts.servers, spec });
  }

  /** Requests and events that run or wait, and open WebSockets. */
  get load(): number {
    return this.#http.load + this.#events.load + (this.#server?.load ?? 0);
  }

  /** Requests and events that run or wait. */
  get requests(): number {
    return this.#http.busy + this.#events.busy + (this.#server?.busy ?? 0);
  }

  /** Its code is on a thread at this moment. */
  get isEntered(): boolean {
    return this.#http.isEntered || this.#events.isEntered;
  }

  /** Requests find it warm. */
  get hasIsolate(): boolean {
    return this.#server !== null || this.#http.hasIsolate;
  }

  /** Serves a request; every way it can end ends the exchange. */
  fetch(exchange: Exchange): void {
    this.#take(exchange, false);
  }

  /** Its own server calls a binding. */
  call(exchange: Exchange): void {
    this.#take(exchange, true);
  }

  #take(exchange: Exchange, isCall: boolean): void {
    const { limits } = this.#parts;
    const { ids, proxyRequestId } = this.#parts;
    const invocation: HttpInvocation = new Invocation(ids, 'http', exchange, performance.now(), limits.subrequestsMax);
    exchange.memory = this.hostMemory;
    exchange.requestId = proxyRequestId?.(exchange) ?? invocation.uid;
    if (this.#parts.telemetry?.samples() === true) this.#trace(invocation, false);
    invocation.isCall = isCall;
    const { bodyBytes } = exchange;
    if (this.#server !== null && !isCall) {
      if (!this.#refuses(invocation, this.#server.busy, this.admitted)) this.#start(invocation, null);
      return;
    }
    this.#http.lastUsedAt = invocation.startedAt;
    if (this.#refuses(invocation, this.#http.busy, this.admitted)) return;
    if (bodyBytes > 0 && bodyBytes <= limits.inlineBodyBytesMax) this.#collect(exchange, invocation);
    else this.#start(invocation, bodyBytes === 0 ? null : undefined);
  }

  #collect(exchange: Exchange, invocation: HttpInvocation): void {
    const onAbort = (): void => invocation.close();
    collectBody(exchange, onAbort, (body) => {
      if (invocation.phase !== 'over') this.#start(invocation, body);
    });
  }

  /** Takes an event that is no request; `delivery.onEnd` hears of its end. */
  deliver(delivery: Delivery): void {
    const { ids, limits } = this.#parts;
    const invocation: EventInvocation = new Invocation(
      ids,
      delivery.kind,
      delivery,
      performance.now(),
      limits.subrequestsMax,
    );
    const isSampled = (Number.parseInt(invocation.trace?.flags ?? '0', 16) & 1) === 1;
    const { telemetry } = this.#parts;
    if (telemetry !== null && (invocation.trace === null ? telemetry.samples() : isSampled && telemetry.continues()))
      this.#trace(invocation, invocation.trace !== null);
    this.#events.lastUsedAt = invocation.startedAt;
    // Events make room for requests and come again; no request makes room for an event.
    if (!this.#refuses(invocation, this.#events.busy, Math.max(0, this.admitted - this.#http.busy)))
      this.#start(invocation, null);
  }

  /** @param isInside what it goes on with is of this platform. */
  #trace(invocation: AnyInvocation, isInside: boolean): void {
    const { telemetry, limits } = this.#parts;
    invocation.spans = new InvocationSpans({
      telemetry: telemetry!,
      invocation: invocation.uid,
      startedAt: invocation.startedAt,
      parent: invocation.trace,
      isInside,
      links: isHttp(invocation) ? [] : (invocation.answer.event.traces ?? []).slice(1),
      spansMax: limits.telemetry.spansMax,
    });
  }

  #refuses(invocation: AnyInvocation, waiting: number, admitted: number): boolean {
    const limit = Math.min(this.#parts.limits.requestsPerDeploymentMax, admitted);
    const refused = waiting >= limit;
    if (refused) this.end(invocation, failed('overloaded', { waiting, limit }));
    return refused;
  }

  #laneOf(invocation: AnyInvocation): Lane {
    return isHttp(invocation) ? this.#http : this.#events;
  }

  #start(invocation: AnyInvocation, body: Part | null | undefined): void {
    if (this.#closed) {
      this.end(invocation, failed('draining'));
      return;
    }
    if (this.#prepare !== null) {
      this.#startPrepared(this.#prepare, invocation, body);
      return;
    }
    if (this.#server !== null && isHttp(invocation) && !invocation.isCall) this.#server.serve(invocation);
    else this.#laneOf(invocation).serve(invocation, body);
  }

  restart(invocation: AnyInvocation): void {
    this.#start(invocation, null);
  }

  /** Waits until the worker may be loaded at all. */
  #startPrepared(prepare: () => Promise<void>, invocation: AnyInvocation, body: Part | null | undefined): void {
    const lane = this.#laneOf(invocation);
    lane.preparing++;
    const onAbort = (): void => invocation.close();
    if (isHttp(invocation)) invocation.answer.onAbort = onAbort;
    prepare().then(
      () => {
        lane.preparing--;
        this.#prepare = null;
        if (invocation.phase !== 'over') this.#start(invocation, body);
      },
      ({ code, details, message }: PlatformError) => {
        lane.preparing--;
        this.log('error', message, invocation);
        this.end(invocation, isFailureCode(code) ? failed(code, details) : failed('internal'));
      },
    );
  }

  /** Starts an isolate ahead of the first request. */
  warm(): void {
    if (this.#prepare === null && this.#server === null) this.#http.warm();
  }

  /** Starts its worker unless it runs, and tells how that went: its top level has run, or what it failed by. */
  start(): Promise<Outcome> {
    return this.#server?.start() ?? this.#http.start();
  }

  /** Gives up an isolate that nothing runs in. */
  rest(): void {
    if (this.#http.isIdle) this.#http.evict();
  }

  /** Ends an invocation: the response where none is out yet, the log, the record. */
  end(invocation: AnyInvocation, ending: Outcome, now = performance.now()): void {
    if (invocation.phase === 'over') return;
    let outcome: Outcome = invocation.failure ?? ending;
    let method = '';
    let target = '';
    let requestId = '';
    if (isHttp(invocation)) {
      ({ method, target, requestId } = invocation.answer);
      if (outcome.kind === 'failed' && invocation.failure === null) this.#endFailed(invocation, outcome);
      invocation.close();
    } else {
      invocation.close();
      // What the handler answered stands, whatever became of the work it left to `waitUntil`.
      const { result, onEnd } = invocation.answer;
      this.#events.lastUsedAt = now;
      onEnd({ outcome: result === null ? outcome : ok, result, cpuMs: invocation.totalCpuMs });
      const thrown = outcome.kind === 'ok' ? thrownIn(result) : null;
      if (thrown !== null) outcome = failed('worker_threw', { reason: thrown });
    }
    const wallMs = now - invocation.startedAt;
    this.#parts.counters.ended(invocation.kind, outcome, wallMs);
    const { kind, cpuMs, hostCpuMs, cpuBefore, hostCpuBefore } = invocation;
    const budgetMs = cpuMs + hostCpuMs - cpuBefore - hostCpuBefore;
    this.#parts.usage.ended(kind, target, outcome.kind === 'failed', cpuMs, hostCpuMs, budgetMs, invocation);
    this.#parts.telemetry?.ended(invocation, outcome, target, wallMs);
    if (this.#parts.onRequest === null || (outcome.kind === 'ok' && !this.#parts.recordsAll)) return;
    const { uid } = invocation;
    this.#parts.onRequest({
      kind: invocation.kind,
      invocation: uid,
      traceId: invocation.trace?.traceId ?? null,
      requestId: requestId === '' || requestId === uid ? null : requestId,
      deployment: this.config.id,
      project: this.config.project,
      method,
      target,
      status: invocation.status,
      event: isHttp(invocation) ? null : eventRecord(invocation.answer.kind, invocation.answer.event.head),
      outcome,
      cpuMs: invocation.totalCpuMs,
      wallMs,
    });
  }

  burnt(of: BurningInvocation | null, cpuMs: number): void {
    this.#parts.usage.burnt(of?.kind ?? 'http', of?.target ?? '', cpuMs);
  }

  /** Answers a request whose handler failed, and whose other work goes on. */
  answerFailed(invocation: HttpInvocation, outcome: Outcome & { kind: 'failed' }): void {
    this.#endFailed(invocation, outcome);
    invocation.failure = outcome;
    invocation.phase = 'answered';
  }

  #endFailed(invocation: HttpInvocation, outcome: Outcome & { kind: 'failed' }): void {
    const exchange = invocation.answer;
    if (invocation.phase === 'answered' && !invocation.isClientGone) {
      exchange.destroy();
      return;
    }
    const { explain } = this.#parts;
    const plain = failureResponse(outcome);
    const response = explain === null ? plain : explain(exchange, plain, this.#explained(outcome));
    invocation.status = response.status;
    exchange.onAbort = null;
    if (outcome.code !== 'client_gone') exchange.send(response.status, response.headerBlock, response.body);
  }

  #explained({ code, details, thrown }: Outcome & { kind: 'failed' }): Explained {
    const { reason = '', ...others } = details;
    const title = errorMessage(code, others).replace(/: \{reason\}$/, '');
    // A worker that does not start says why in `reason`.
    const stack = thrown === undefined ? String(reason) : (thrown.stack ?? '');
    const [said] = this.#mapper.map(String(reason)).split('\n', 1);
    return {
      title,
      message: thrown?.message ?? (said || title),
      ...(thrown !== undefined && { name: thrown.name }),
      stack: stack.includes('\n') ? this.#mapper.map(stack) : null,
      place: this.#mapper.frame(stack),
    };
  }

  /** A text whose places in the bundle are those of the sources. */
  mapped(text: string): string {
    return this.#mapper.map(text);
  }

  mapStack(text: string): string | null {
    return this.#mapper.hasMap ? this.#mapper.map(text) : null;
  }

  log(level: LogLine['level'], text: string, invocation: AnyInvocation | null): void {
    const line: LogLine = {
      level,
      text: this.#mapper.map(text),
      invocation: invocation?.uid ?? null,
      traceId: invocation?.trace?.traceId ?? null,
    };
    this.#parts.onLog(this.config, line);
    this.#parts.telemetry?.line(line, invocation);
  }

  /** It takes the place of another: what is done before the worker is loaded is asked for again. */
  promote(): void {
    this.#isRetired = false;
    this.#prepare = this.config.prepare ?? null;
  }

  /** Another deployment takes its place: clients of open WebSockets are asked to come again. */
  retire(): void {
    this.#isRetired = true;
    this.#http.closeSockets(1012, 'Service restart');
    this.#server?.closeSockets(1012, 'Service restart');
    this.#events.closeSockets(1012, 'Service restart');
  }

  /**
   * Called about once a second: ends what is over its wall limit, and disposes an isolate that no event has come to
   * for a while, or no request since another deployment took its place.
   */
  checkWall(now: number): void {
    this.#http.checkWall(now);
    this.#events.checkWall(now);
    this.#server?.checkWall(now);
    this.#events.evictAfter(this.#parts.limits.eventIsolateIdleMs, now);
    if (this.#isRetired) this.#http.evictAfter(this.#parts.limits.eventIsolateIdleMs, now);
  }

  /** Called often while entries run: notices isolates that died without a word. */
  checkAlive(): void {
    this.#http.checkAlive();
    this.#events.checkAlive();
  }

  /** No new requests; those that run are cut off unless `load` is 0. */
  close(): void {
    this.#closed = true;
    this.#http.close();
    this.#events.close();
    this.#server?.close();
    this.#parts.hostMemory.close(this.hostMemory);
  }
}
