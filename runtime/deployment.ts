// One deployment on this engine: starts an isolate when the first request comes (serving.ts), gives it requests, ends them one
// way or another, and takes another isolate when one is gone. handler.ts makes one per deployment it serves.
import { performance } from 'node:perf_hooks';
import type { PlatformError } from '#core/errors.ts';
import type { EngineMemory, HostMemory } from './bridge/host-memory.ts';
import type { Part } from './bridge/protocol.ts';
import type { InvocationKind } from '#core/plans.ts';
import type { Delivery } from './invocation/delivery.ts';
import type { InvocationIds } from './invocation/invocation-id.ts';
import { Invocation } from './invocation/invocation.ts';
import { StackMapper, type LogLine } from './invocation/log.ts';
import { failed, failureResponse, isFailureCode, ok, type Outcome } from './invocation/outcome.ts';
import type { Pool, Tenant } from './isolates/pool.ts';
import { collectBody } from './request-body.ts';
import { StartPause } from './start-pause.ts';
import type { Exchange } from './server/listener.ts';
import type { ProxyRequestIds } from './server/request-id.ts';
import {
  isHttp,
  Serving,
  type AnyInvocation,
  type DeploymentConfig,
  type EventInvocation,
  type HttpInvocation,
  type ServingOwner,
  type ServingParts,
} from './serving.ts';

/** One invocation's end, for the log and the counters. */
export interface RequestRecord {
  readonly kind: InvocationKind;
  /** Id of the invocation. */ readonly invocation: string;
  readonly traceId: string | null;
  /** What a trusted proxy calls it; null otherwise. */ readonly requestId: string | null;
  readonly deployment: string;
  readonly project: string;
  /** Of a request; empty for other events. */ readonly method: string;
  readonly target: string;
  /** 0 for events that are no requests. */ readonly status: number;
  readonly outcome: Outcome;
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** What deployments are made of. */
export interface DeploymentParts extends ServingParts {
  readonly pool: Pool;
  readonly hostMemory: EngineMemory;
  readonly onLog: (deployment: DeploymentConfig, line: LogLine) => void;
  /** Null where nobody listens, so that no record is made. */
  readonly onRequest: ((record: RequestRecord) => void) | null;
  /** Whether `onRequest` wants those that ended well, too. */
  readonly recordsAll: boolean;
  readonly ids: InvocationIds;
  /** Null where no proxy is trusted. */ readonly proxyRequestId: ProxyRequestIds | null;
}

/** A deployment with whatever isolate serves it now. */
export class Deployment implements Tenant, ServingOwner {
  readonly config: DeploymentConfig;
  readonly hostMemory: HostMemory;
  lastUsedAt = 0;
  readonly conduct = { slowUntil: 0 };
  #parts: DeploymentParts;
  #mapper: StackMapper;
  #serving: Serving | null = null;
  #startPause = new StartPause();
  /** Requests it may have while the engine has too many. */
  admitted = Number.POSITIVE_INFINITY;
  /** Condemned isolates that still serve what they had. */
  #retired = new Set<Serving>();
  #closed = false;
  /** What is to be done before the worker is loaded; null when it is. */
  #prepare: (() => Promise<void>) | null;
  /** Invocations that wait for it. */
  #preparing = 0;

  constructor(config: DeploymentConfig, parts: DeploymentParts) {
    this.config = config;
    this.hostMemory = parts.hostMemory.open(`${config.project}/${config.id}`);
    this.#prepare = config.prepare ?? null;
    this.#parts = parts;
    this.#mapper = new StackMapper(config.sourceMap);
  }

  /** Invocations whose response is an open WebSocket. */
  get #openSockets(): number {
    let open = this.#serving?.upgraded ?? 0;
    for (const serving of this.#retired) open += serving.upgraded;
    return open;
  }

  /** Requests that run or wait, and open WebSockets. */
  get load(): number {
    let load = this.#preparing + (this.#serving?.load ?? 0);
    for (const serving of this.#retired) load += serving.load;
    return load;
  }

  /** Requests that run or wait. */
  get requests(): number {
    return this.load - this.#openSockets;
  }

  get isIdle(): boolean {
    return this.load === 0 && this.#serving?.isStarting !== true;
  }

  /** Its code is on a thread at this moment. */
  get isEntered(): boolean {
    if (this.#serving?.isEntered === true) return true;
    for (const serving of this.#retired) if (serving.isEntered) return true;
    return false;
  }

  get hasIsolate(): boolean {
    return this.#serving !== null;
  }

  /** Serves a request; every way it can end ends the exchange. */
  fetch(exchange: Exchange): void {
    const { limits } = this.#parts;
    const { ids, proxyRequestId } = this.#parts;
    const invocation: HttpInvocation = new Invocation(ids, 'http', exchange, performance.now(), limits.subrequestsMax);
    exchange.requestId = proxyRequestId?.(exchange) ?? invocation.uid;
    this.lastUsedAt = invocation.startedAt;
    if (this.#refuses(invocation)) return;
    const { bodyBytes } = exchange;
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
    const invocation: EventInvocation = new Invocation(ids, delivery.kind, delivery, performance.now(), limits.subrequestsMax);
    this.lastUsedAt = invocation.startedAt;
    if (!this.#refuses(invocation)) this.#start(invocation, null);
  }

  #refuses(invocation: AnyInvocation): boolean {
    const limit = Math.min(this.#parts.limits.requestsPerDeploymentMax, this.admitted);
    const refused = this.requests >= limit;
    if (refused) this.end(invocation, failed('overloaded', { waiting: this.requests, limit }));
    return refused;
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
    if (this.#serving === null) {
      const pause = this.#startPause.answer(performance.now());
      if (pause !== null) {
        this.end(invocation, pause);
        return;
      }
      this.#serving = this.#open();
    }
    this.#serving.start(invocation, body);
  }

  /** Waits until the worker may be loaded at all. */
  #startPrepared(prepare: () => Promise<void>, invocation: AnyInvocation, body: Part | null | undefined): void {
    this.#preparing++;
    const onAbort = (): void => invocation.close();
    if (isHttp(invocation)) invocation.answer.onAbort = onAbort;
    prepare().then(
      () => {
        this.#preparing--;
        this.#prepare = null;
        if (invocation.phase !== 'over') this.#start(invocation, body);
      },
      ({ code, details, message }: PlatformError) => {
        this.#preparing--;
        this.log('error', message, invocation);
        this.end(invocation, isFailureCode(code) ? failed(code, details) : failed('internal'));
      },
    );
  }

  /** Starts an isolate ahead of the first request. */
  warm(): void {
    if (this.#prepare === null) this.#serving ??= this.#open();
  }

  #open(): Serving {
    const serving: Serving = new Serving(this, this.#parts, this.#parts.pool.take(this), {
      onRestart: (invocation) => this.#start(invocation, null),
      onReady: () => this.#startPause.started(),
      onStartFailed: (outcome) => this.#startFailed(outcome),
      onCondemned: () => this.#retire(serving),
      onGone: () => this.#forget(serving),
    });
    // Not before it is known here: it may be gone again before `loadWorker` returns.
    queueMicrotask(() => serving.loadWorker());
    return serving;
  }

  #startFailed(outcome: Outcome & { kind: 'failed' }): void {
    // An isolate that made room for another was no failure of its worker.
    if (!this.#closed && outcome.details['reason'] !== 'evicted') this.#startPause.failed(outcome, performance.now());
  }

  #retire(serving: Serving): void {
    if (this.#serving === serving) {
      this.#serving = null;
      this.#retired.add(serving);
    }
  }

  #forget(serving: Serving): void {
    this.#retired.delete(serving);
    if (this.#serving === serving) this.#serving = null;
    if (this.#serving === null && this.#retired.size === 0) this.#parts.pool.release(this);
  }

  /** Ends an invocation: the response where none is out yet, the log, the record. */
  end(invocation: AnyInvocation, outcome: Outcome, now = performance.now()): void {
    if (invocation.phase === 'over') return;
    let method = '';
    let target = '';
    let requestId = '';
    if (isHttp(invocation)) {
      ({ method, target, requestId } = invocation.answer);
      if (outcome.kind === 'failed') endFailed(invocation, outcome);
      invocation.close();
    } else {
      invocation.close();
      // What the handler answered stands, whatever became of the work it left to `waitUntil`.
      const { result, onEnd } = invocation.answer;
      onEnd({ outcome: result === null ? outcome : ok, result, cpuMs: invocation.cpuMs });
    }
    const wallMs = now - invocation.startedAt;
    this.#parts.counters.ended(invocation.kind, outcome, wallMs);
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
      outcome,
      cpuMs: invocation.cpuMs,
      wallMs,
    });
  }

  log(level: LogLine['level'], text: string, invocation: AnyInvocation | null): void {
    this.#parts.onLog(this.config, {
      level,
      text: this.#mapper.map(text),
      invocation: invocation?.uid ?? null,
      traceId: invocation?.trace?.traceId ?? null,
    });
  }

  /** Another deployment takes its place: clients of open WebSockets are asked to come again. */
  leave(): void {
    this.#serving?.closeSockets(1012, 'Service restart');
  }

  evict(): void {
    this.#serving?.dispose(failed('isolate_replaced', { reason: 'evicted' }));
  }

  condemn(): void {
    this.#serving?.condemnForMemory();
  }

  get uses(): number {
    return this.#serving?.uses ?? 0;
  }

  async trim(): Promise<void> {
    await this.#serving?.trim();
  }

  async heldBytes(): Promise<number> {
    return this.hostMemory.bytes + ((await this.#serving?.heapBytes()) ?? 0);
  }

  /** Called about once a second: ends what is over its wall limit. */
  checkWall(now: number): void {
    this.#serving?.checkWall(now);
    for (const serving of this.#retired) serving.checkWall(now);
  }

  /** Called often while entries run: notices isolates that died without a word. */
  checkAlive(): void {
    this.#serving?.checkAlive();
    for (const serving of this.#retired) serving.checkAlive();
  }

  /** No new requests; those that run are cut off unless `load` is 0. */
  close(): void {
    this.#closed = true;
    this.#serving?.dispose(failed('draining'));
    for (const serving of this.#retired) serving.dispose(failed('draining'));
    this.#parts.hostMemory.close(this.hostMemory);
  }
}

function endFailed(invocation: HttpInvocation, outcome: Outcome & { kind: 'failed' }): void {
  const exchange = invocation.answer;
  if (invocation.phase === 'answered') {
    exchange.destroy();
    return;
  }
  const response = failureResponse(outcome);
  invocation.status = response.status;
  exchange.onAbort = null;
  if (outcome.code !== 'client_gone') exchange.send(response.status, response.headerBlock, response.body);
}
