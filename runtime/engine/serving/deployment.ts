// One deployment on this engine: gives requests to one lane and events to another (lane.ts), each with its own
// isolate, and ends every invocation. handler.ts makes one per deployment it serves.
import { performance } from 'node:perf_hooks';
import { nameNowOf } from '#core/bindings/object-classes.ts';
import type { PlatformError } from '#core/errors.ts';
import { objectPlace, type ObjectAddress } from '#core/object-address.ts';
import type { InvocationKind } from '#core/plans.ts';
import type { EngineMemory, HostMemory } from '../bridge/host-memory.ts';
import type { Part } from '../bridge/protocol.ts';
import type { Delivery } from '../invocation/delivery.ts';
import type { InvocationIds } from '../invocation/invocation-id.ts';
import { thrownIn, type EventRecord } from '../invocation/event-record.ts';
import {
  Invocation,
  isHttp,
  type AnyInvocation,
  type EventInvocation,
  type HttpInvocation,
} from '../invocation/invocation.ts';
import { StackMapper, type LogLine } from '../invocation/log.ts';
import { failed, isFailure, isFailureCode, ok, type Outcome } from '../invocation/outcome.ts';
import { ServerLane } from '../servers/server-lane.ts';
import type { ServerLink } from '../servers/server-link.ts';
import type { Exchange } from '../http/listener.ts';
import type { DeploymentUsage } from '../metrics/usage.ts';
import { InvocationSpans } from '../tracing/invocation-spans.ts';
import type { DeploymentTelemetry } from '../telemetry/recorder.ts';
import type { ProxyRequestIds } from '../http/request-id.ts';
import type { BurningInvocation, DeploymentConfig, ServedDeployment } from './config.ts';
import type { ObjectDeployment } from './objects/live-object.ts';
import type { AlarmOwner } from './objects/object-alarms.ts';
import type { LiveObjects } from './objects/live-objects.ts';
import type { SocketEvent } from './objects/object-sockets.ts';
import { answerFailedRequest, type Explain, type FailedRequestDeps } from './failed-requests.ts';
import { Lane, type LaneDeps } from './lane.ts';
import { collectBody } from './request-body.ts';

/** The end of one invocation, for the log and the counters. */
export interface RequestRecord {
  readonly kind: InvocationKind;
  /** Id of the invocation. */
  readonly invocation: string;
  readonly traceId: string | null;
  /** The request id from a trusted proxy; null otherwise. */
  readonly requestId: string | null;
  readonly deployment: string;
  readonly project: string;
  /** Method of a request; empty for other events. */
  readonly method: string;
  readonly target: string;
  /** 0 for events other than requests. */
  readonly status: number;
  /** Set for events other than requests. */
  readonly event: EventRecord | null;
  readonly outcome: Outcome;
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** Dependencies of a deployment. */
export interface DeploymentDeps extends LaneDeps {
  readonly hostMemory: EngineMemory;
  readonly usage: DeploymentUsage;
  /** Null when telemetry is off and only the log is written. */
  readonly telemetry: DeploymentTelemetry | null;
  readonly onLog: (deployment: DeploymentConfig, line: LogLine) => void;
  /** Null without a listener, so that no record is made. */
  readonly onRequest: ((record: RequestRecord) => void) | null;
  /** Whether `onRequest` also receives successful requests. */
  readonly recordsAll: boolean;
  readonly ids: InvocationIds;
  /** Answers failed requests with details for the author of the worker; null: only what visitors may see. */
  readonly explain: Explain | null;
  /** Null when no proxy is trusted. */
  readonly proxyRequestId: ProxyRequestIds | null;
  readonly servers: ServerLink;
  /** Of all deployments. */
  readonly objects?: LiveObjects;
}

/** Share of host memory that events may hold; the rest is reserved for requests. */
const EVENTS_MEMORY_SHARE = 0.75;

/** A deployment and the isolates that currently serve it. */
/** An object of a class that another project transferred: where it is stored, and the name of its class here. */
export interface StoredElsewhere extends Pick<AlarmOwner, 'namespace' | 'project' | 'branch' | 'preview'> {
  readonly class: string;
}

export class Deployment implements ServedDeployment, ObjectDeployment {
  readonly config: DeploymentConfig;
  readonly hostMemory: HostMemory;
  readonly openSockets = { count: 0 };
  #deps: DeploymentDeps;
  #mapper: StackMapper;
  #failedRequests: FailedRequestDeps;
  #http: Lane;
  /**
   * Queues, timers, schedules and workflows. They run apart, so that their CPU use and failures do not delay
   * requests.
   */
  #events: Lane;
  /** Durable objects, apart from both; null before the first event of one. */
  #objects: Lane | null = null;
  /** Serves the requests of an ssr project; null otherwise. */
  #server: ServerLane | null;
  /** Requests the deployment may have while the engine is overloaded. */
  admitted = Number.POSITIVE_INFINITY;
  #closed = false;
  /** Another deployment has replaced it: its isolates are released early. */
  #isRetired = false;
  /** Work to complete before the worker is loaded; null when it is done. */
  #prepare: (() => Promise<void>) | null;

  constructor(config: DeploymentConfig, deps: DeploymentDeps) {
    this.config = config;
    this.hostMemory = deps.hostMemory.open(`${config.project}/${config.id}`);
    this.#prepare = config.prepare ?? null;
    this.#deps = deps;
    this.#mapper = new StackMapper(config.sourceMap);
    const { explain, sendErrorPage } = deps;
    this.#failedRequests = { config, mapper: this.#mapper, explain, sendErrorPage };
    this.#http = new Lane(this, deps, 1);
    this.#events = new Lane(this, deps, EVENTS_MEMORY_SHARE);
    const { server: spec = null } = config;
    this.#server = spec === null ? null : new ServerLane(this, { ...deps, link: deps.servers, spec });
  }

  /** Requests and events that run or wait, and open WebSockets. */
  get load(): number {
    return this.#http.load + this.#events.load + (this.#objects?.load ?? 0) + (this.#server?.load ?? 0);
  }

  /** Requests and events that run or wait. */
  get requests(): number {
    return this.#http.busy + this.#events.busy + (this.#objects?.busy ?? 0) + (this.#server?.busy ?? 0);
  }

  /** Whether its code runs on a thread at this moment. */
  get isEntered(): boolean {
    return this.#http.isEntered || this.#events.isEntered || this.#objects?.isEntered === true;
  }

  /** Whether requests find a warm isolate. */
  get hasIsolate(): boolean {
    return this.#server !== null || this.#http.hasIsolate;
  }

  /** Serves a request; every possible end ends the exchange. */
  fetch(exchange: Exchange): void {
    this.#take(exchange, false);
  }

  /** A binding call from the deployment's own server. */
  call(exchange: Exchange): void {
    this.#take(exchange, true);
  }

  #take(exchange: Exchange, isCall: boolean): void {
    const { limits, ids, proxyRequestId } = this.#deps;
    const invocation: HttpInvocation = new Invocation(ids, 'http', exchange, performance.now(), limits.subrequestsMax);
    exchange.memory = this.hostMemory;
    exchange.requestId = proxyRequestId?.(exchange) ?? invocation.uid;
    if (this.#deps.telemetry?.samples() === true) this.#trace(invocation, false);
    invocation.isCall = isCall;
    if (this.#server !== null && !isCall) {
      if (!this.#refuses(invocation, this.#server.busy, this.admitted)) this.#start(invocation, null);
      return;
    }
    this.#http.lastUsedAt = invocation.startedAt;
    if (this.#refuses(invocation, this.#http.busy, this.admitted)) return;
    if (exchange.callee?.session != null) this.#start(invocation, exchange.callee.session.frame);
    else this.#startWithBody(exchange, invocation);
  }

  /** Starts with a small body whole; a larger one is streamed. */
  #startWithBody(exchange: Exchange, invocation: HttpInvocation): void {
    const { bodyBytes } = exchange;
    if (bodyBytes > 0 && bodyBytes <= this.#deps.limits.inlineBodyBytesMax) this.#collect(exchange, invocation);
    else this.#start(invocation, bodyBytes === 0 ? null : undefined);
  }

  /**
   * Serves an event of a durable object, as soon as this deployment may have the object.
   *
   * @param home of an object whose class another project transferred. @param forward sends it to the engine that has
   * the object; null: that engine sent it here. @param socketEvent of a WebSocket that is kept here.
   */
  object(
    exchange: Exchange,
    address: ObjectAddress,
    home: StoredElsewhere | null,
    forward: ((link: string) => void) | null,
    socketEvent: SocketEvent | null = null,
  ): void {
    const { limits, ids, telemetry } = this.#deps;
    const objects = this.#deps.objects!;
    const { project } = this.config;
    const { namespace, preview, branch, classes } = this.config.objects!;
    const stored = home ?? { namespace, project, branch, preview, class: nameNowOf(classes, address.class) };
    const place = objectPlace(stored.namespace, stored.preview, address.id);
    const invocation: HttpInvocation = new Invocation(
      ids,
      'object',
      exchange,
      performance.now(),
      limits.subrequestsMax,
    );
    exchange.memory = this.hostMemory;
    const object = { address: { ...address, class: stored.class }, socketEvent };
    invocation.object = object;
    exchange.requestId = invocation.uid;
    if (telemetry?.samples() === true) this.#trace(invocation, true);
    this.#objects ??= new Lane(this, this.#deps, EVENTS_MEMORY_SHARE, objects);
    const lane = this.#objects;
    lane.lastUsedAt = invocation.startedAt;
    const owner = { ...stored, ...address };
    objects.enter(place, owner, {
      deployment: this,
      forward:
        forward === null
          ? null
          : (link) => {
              invocation.close();
              forward(link);
            },
      refuse: (error) => {
        const { code, details } = error as PlatformError;
        this.end(invocation, isFailureCode(code) ? failed(code, details) : failed('internal'));
      },
      start: (live) => {
        objects.bind(object, live);
        invocation.atExit(() => {
          lane.lastUsedAt = performance.now();
          objects.leave(live);
        });
        if (invocation.isOver || this.#refuses(invocation, lane.busy, this.admitted)) return;
        const { session = null } = exchange.callee ?? {};
        if (session !== null) this.#start(invocation, session.frame);
        else this.#startWithBody(exchange, invocation);
      },
    });
  }

  #collect(exchange: Exchange, invocation: HttpInvocation): void {
    const onAbort = (): void => invocation.close();
    collectBody(exchange, onAbort, (body) => {
      if (invocation.phase !== 'over') this.#start(invocation, body);
    });
  }

  /** Accepts an event other than a request; `delivery.onEnd` is called at its end. */
  deliver(delivery: Delivery): void {
    const { ids, limits } = this.#deps;
    const invocation: EventInvocation = new Invocation(
      ids,
      delivery.kind,
      delivery,
      performance.now(),
      limits.subrequestsMax,
    );
    const isSampled = (Number.parseInt(invocation.trace?.flags ?? '0', 16) & 1) === 1;
    const { telemetry } = this.#deps;
    if (telemetry !== null && (invocation.trace === null ? telemetry.samples() : isSampled && telemetry.continues()))
      this.#trace(invocation, invocation.trace !== null);
    this.#events.lastUsedAt = invocation.startedAt;
    // Events give way to requests and are delivered again later; requests never give way to events.
    if (!this.#refuses(invocation, this.#events.busy, Math.max(0, this.admitted - this.#http.busy)))
      this.#start(invocation, null);
  }

  /** @param isInside whether the trace continues one of this platform. */
  #trace(invocation: AnyInvocation, isInside: boolean): void {
    const { telemetry, limits } = this.#deps;
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
    const limit = Math.min(this.#deps.limits.requestsPerDeploymentMax, admitted);
    const refused = waiting >= limit;
    if (refused) this.end(invocation, failed('overloaded', { waiting, limit }));
    return refused;
  }

  #laneOf(invocation: AnyInvocation): Lane {
    if (invocation.kind === 'object') return this.#objects!;
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
    if (this.#server !== null && isHttp(invocation) && invocation.kind === 'http' && !invocation.isCall)
      this.#server.serve(invocation);
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

  /** Starts the worker unless it runs, and returns the outcome: its top level has run, or the reason it failed. */
  start(): Promise<Outcome> {
    return this.#server?.start() ?? this.#http.start();
  }

  /** Releases an idle isolate. */
  rest(): void {
    if (this.#http.isIdle) this.#http.evict();
  }

  /** Ends an invocation: sends a response if none was sent, and writes the log line and the record. */
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
      // The handler's response counts, regardless of how the work in `waitUntil` ended.
      const { result, onEnd } = invocation.answer;
      this.#events.lastUsedAt = now;
      onEnd({ outcome: result === null ? outcome : ok, result, cpuMs: invocation.totalCpuMs });
      const thrown = outcome.kind === 'ok' ? thrownIn(result) : null;
      if (thrown !== null) outcome = failed('worker_threw', { reason: thrown });
    }
    invocation.object?.socketEvent?.ended(outcome);
    const wallMs = now - invocation.startedAt;
    this.#count(invocation, outcome, target, now);
    this.#deps.telemetry?.ended(invocation, outcome, target, now);
    const { onRequest, recordsAll } = this.#deps;
    if (onRequest === null || !(recordsAll || isFailure(outcome, invocation.status))) return;
    const { uid } = invocation;
    onRequest({
      kind: invocation.kind,
      invocation: uid,
      traceId: invocation.trace?.traceId ?? null,
      requestId: requestId === '' || requestId === uid ? null : requestId,
      deployment: this.config.id,
      project: this.config.project,
      method,
      target,
      status: invocation.status,
      event: invocation.event,
      outcome,
      cpuMs: invocation.totalCpuMs,
      wallMs,
    });
  }

  /** Counts an invocation that has ended. */
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

  burnt(of: BurningInvocation | null, cpuMs: number): void {
    this.#deps.usage.burnt(of?.kind ?? 'http', of?.target ?? '', cpuMs);
  }

  /** Answers a request whose handler failed while its other work continues. */
  answerFailed(invocation: HttpInvocation, outcome: Outcome & { kind: 'failed' }): void {
    answerFailedRequest(invocation, outcome, this.#failedRequests);
    invocation.failure = outcome;
    invocation.phase = 'answered';
    invocation.firstByteAt = invocation.answeredAt = performance.now();
  }

  /** A text with its bundle positions mapped to the sources. */
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
    this.#deps.onLog(this.config, line);
    this.#deps.telemetry?.line(line, invocation);
  }

  /** The deployment replaces another: requests the preparation of its databases again. */
  promote(): void {
    this.#isRetired = false;
    this.#prepare = this.config.prepare ?? null;
  }

  /** Another deployment replaces this one: asks clients of open WebSockets to reconnect. */
  retire(): void {
    this.#isRetired = true;
    this.#http.closeSockets(1012, 'Service restart');
    this.#server?.closeSockets(1012, 'Service restart');
    this.#events.closeSockets(1012, 'Service restart');
    this.#objects?.closeSockets(1012, 'Service restart');
  }

  /**
   * Called about once a second: ends invocations over their wall limit, and disposes an isolate that has had no event
   * for a while, or no request since another deployment replaced this one.
   */
  checkWall(now: number): void {
    this.#http.checkWall(now);
    this.#events.checkWall(now);
    this.#objects?.checkWall(now);
    this.#objects?.evictAfter(this.#deps.limits.eventIsolateIdleMs, now);
    this.#server?.checkWall(now);
    this.#events.evictAfter(this.#deps.limits.eventIsolateIdleMs, now);
    if (this.#isRetired) this.#http.evictAfter(this.#deps.limits.eventIsolateIdleMs, now);
  }

  /** Called often while entries run: detects isolates that died without an event. */
  checkAlive(): void {
    this.#http.checkAlive();
    this.#events.checkAlive();
    this.#objects?.checkAlive();
  }

  /** Refuses new requests; cuts off running ones unless `load` is 0. */
  close(): void {
    this.#closed = true;
    this.#http.close();
    this.#events.close();
    this.#objects?.close();
    this.#server?.close();
    this.#deps.hostMemory.close(this.hostMemory);
  }
}
