// One deployment on this engine: passes requests, events and durable objects to their lanes (lanes.ts). handler.ts
// creates one object per deployment that it serves.
import { performance } from 'node:perf_hooks';
import { nameNowOf } from '#core/bindings/object-classes.ts';
import type { PlatformError } from '#core/errors.ts';
import { objectPlace, type ObjectAddress } from '#core/object-address.ts';
import type { EngineMemory, HostMemory } from '../bridge/host-memory.ts';
import type { Part } from '../bridge/protocol.ts';
import type { Exchange } from '../http/listener.ts';
import type { ProxyRequestIds } from '../http/request-id.ts';
import type { Delivery } from '../invocation/delivery.ts';
import type { InvocationIds } from '../invocation/invocation-id.ts';
import {
  Invocation,
  isHttp,
  type AnyInvocation,
  type EventInvocation,
  type HttpInvocation,
} from '../invocation/invocation.ts';
import { StackMapper, type LogLine } from '../invocation/log.ts';
import { failed, isFailureCode } from '../invocation/outcome.ts';
import { InvocationSpans } from '../tracing/invocation-spans.ts';
import type { DeploymentConfig } from './config.ts';
import { InvocationEnds, type InvocationEndsDeps } from './invocation-ends.ts';
import { Lanes, type LanesDeps } from './lanes.ts';
import type { ObjectDeployment } from './objects/live-object.ts';
import type { AlarmOwner } from './objects/object-alarms.ts';
import type { SocketEvent } from './objects/object-sockets.ts';
import { collectBody } from './request-body.ts';
import type { ServedDeployment } from './served-deployment.ts';

/** Dependencies of a deployment. */
export interface DeploymentDeps extends LanesDeps, InvocationEndsDeps {
  readonly hostMemory: EngineMemory;
  readonly onLog: (deployment: DeploymentConfig, line: LogLine) => void;
  readonly ids: InvocationIds;
  /** Reads request ids of trusted proxies; null if no proxy is trusted. */
  readonly proxyRequestId: ProxyRequestIds | null;
}

/**
 * For an object of a class that another project transferred: where it is stored, and the name of its class in this
 * deployment.
 */
export interface StoredElsewhere extends Pick<AlarmOwner, 'namespace' | 'project' | 'branch' | 'preview'> {
  readonly class: string;
}

/** A deployment and the isolates that currently serve it. */
export class Deployment implements ServedDeployment, ObjectDeployment {
  readonly config: DeploymentConfig;
  readonly mapper: StackMapper;
  readonly hostMemory: HostMemory;
  readonly openSockets = { count: 0 };
  readonly lanes: Lanes;
  readonly ends: InvocationEnds;
  /** How many requests the deployment may have while the engine is overloaded. */
  admitted = Number.POSITIVE_INFINITY;
  #deps: DeploymentDeps;
  #closed = false;
  /** Number of requests whose body is being read, and of events whose object is not available yet. */
  #arriving = 0;
  /** Work that must be completed before the worker is loaded; null when it is done. */
  #prepare: (() => Promise<void>) | null;

  constructor(config: DeploymentConfig, deps: DeploymentDeps) {
    this.config = config;
    this.mapper = new StackMapper(config.sourceMap);
    this.hostMemory = deps.hostMemory.open(`${config.project}/${config.id}`);
    this.#prepare = config.prepare ?? null;
    this.#deps = deps;
    this.lanes = new Lanes(this, deps);
    this.ends = new InvocationEnds(config, this.mapper, this.lanes.events, deps);
  }

  /** Number of requests and events that arrive, run or wait, and of open WebSockets. */
  get load(): number {
    return this.#arriving + this.lanes.load;
  }

  /** Serves a request. However it ends, the exchange is ended. */
  fetch(exchange: Exchange): void {
    this.#take(exchange, false);
  }

  /** Serves a binding call from the deployment's own server. */
  call(exchange: Exchange): void {
    this.#take(exchange, true);
  }

  #take(exchange: Exchange, isCall: boolean): void {
    const { limits, ids, proxyRequestId, telemetry } = this.#deps;
    const { http, server } = this.lanes;
    const invocation: HttpInvocation = new Invocation(ids, 'http', exchange, performance.now(), limits.subrequestsMax);
    exchange.memory = this.hostMemory;
    exchange.requestId = proxyRequestId?.(exchange) ?? invocation.uid;
    if (telemetry?.samples() === true) this.#trace(invocation, false);
    invocation.isCall = isCall;
    if (server !== null && !isCall) {
      // While the databases are prepared, requests wait in the other lane.
      if (!this.#refuses(invocation, server.busy + http.preparing, this.admitted)) this.#start(invocation, null);
      return;
    }
    http.lastUsedAt = invocation.startedAt;
    if (this.#refuses(invocation, http.busy, this.admitted)) return;
    if (exchange.callee?.session != null) this.#start(invocation, exchange.callee.session.frame);
    else this.#startWithBody(exchange, invocation);
  }

  /** Starts a request when its small body is complete; a larger body is streamed. */
  #startWithBody(exchange: Exchange, invocation: HttpInvocation): void {
    const { bodyBytes } = exchange;
    if (bodyBytes > 0 && bodyBytes <= this.#deps.limits.inlineBodyBytesMax) this.#collect(exchange, invocation);
    else this.#start(invocation, bodyBytes === 0 ? null : undefined);
  }

  /**
   * Serves an event of a durable object, as soon as this deployment may have the object.
   *
   * @param home set for an object whose class another project transferred. @param forward sends the event to the engine
   * that has the object; null if the event was forwarded to this engine. @param socketEvent set for an event of a
   * WebSocket that this engine keeps.
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
    const lane = this.lanes.objects;
    lane.lastUsedAt = invocation.startedAt;
    const owner = { ...stored, ...address };
    this.#arriving++;
    objects.enter(place, owner, {
      deployment: this,
      forward:
        forward === null
          ? null
          : (link) => {
              this.#arriving--;
              invocation.close();
              forward(link);
            },
      refuse: (error) => {
        this.#arriving--;
        const { code, details } = error as PlatformError;
        this.ends.end(invocation, isFailureCode(code) ? failed(code, details) : failed('internal'));
      },
      start: (live) => {
        this.#arriving--;
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
    this.#arriving++;
    const onAbort = (): void => {
      this.#arriving--;
      this.ends.end(invocation, failed('client_gone'));
    };
    collectBody(exchange, onAbort, (body) => {
      if (invocation.isOver) return;
      this.#arriving--;
      this.#start(invocation, body);
    });
  }

  /** Accepts an event other than a request; `delivery.onEnd` is called at its end. */
  deliver(delivery: Delivery): void {
    const { ids, limits, telemetry } = this.#deps;
    const { http, events } = this.lanes;
    const invocation: EventInvocation = new Invocation(
      ids,
      delivery.kind,
      delivery,
      performance.now(),
      limits.subrequestsMax,
    );
    const isSampled = (Number.parseInt(invocation.trace?.flags ?? '0', 16) & 1) === 1;
    if (telemetry !== null && (invocation.trace === null ? telemetry.samples() : isSampled && telemetry.continues()))
      this.#trace(invocation, invocation.trace !== null);
    events.lastUsedAt = invocation.startedAt;
    // If there are too many requests, events are refused and delivered again later; requests are never refused because
    // of events.
    if (!this.#refuses(invocation, events.busy, Math.max(0, this.admitted - http.busy))) this.#start(invocation, null);
  }

  /** @param isInside whether the invocation continues a trace of this platform. */
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
    if (refused) this.ends.end(invocation, failed('overloaded', { waiting, limit }));
    return refused;
  }

  #start(invocation: AnyInvocation, body: Part | null | undefined): void {
    if (this.#closed) {
      this.ends.end(invocation, failed('draining'));
      return;
    }
    if (this.#prepare !== null) {
      this.#startPrepared(this.#prepare, invocation, body);
      return;
    }
    const { server } = this.lanes;
    if (server !== null && isHttp(invocation) && invocation.kind === 'http' && !invocation.isCall)
      server.serve(invocation);
    else this.lanes.of(invocation).serve(invocation, body);
  }

  restart(invocation: AnyInvocation): void {
    this.#start(invocation, null);
  }

  /** Waits until the worker may be loaded at all. */
  #startPrepared(prepare: () => Promise<void>, invocation: AnyInvocation, body: Part | null | undefined): void {
    const lane = this.lanes.of(invocation);
    lane.preparing++;
    const onAbort = (): void => this.ends.end(invocation, failed('client_gone'));
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
        this.ends.end(invocation, isFailureCode(code) ? failed(code, details) : failed('internal'));
      },
    );
  }

  /** Starts an isolate ahead of the first request. */
  warm(): void {
    if (this.#prepare === null && this.lanes.server === null) this.lanes.http.warm();
  }

  log(level: LogLine['level'], text: string, invocation: AnyInvocation | null): void {
    const line: LogLine = {
      level,
      text: this.mapper.map(text),
      invocation: invocation?.uid ?? null,
      traceId: invocation?.trace?.traceId ?? null,
    };
    this.#deps.onLog(this.config, line);
    this.#deps.telemetry?.line(line, invocation);
  }

  /** Called when the deployment replaces another one: requests the preparation of its databases again. */
  promote(): void {
    this.lanes.isRetired = false;
    this.#prepare = this.config.prepare ?? null;
  }

  /** Refuses new requests; if `load` is not 0, running requests are cut off. */
  close(): void {
    this.#closed = true;
    this.lanes.close();
    this.#deps.hostMemory.close(this.hostMemory);
  }
}
