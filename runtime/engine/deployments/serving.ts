// One isolate that serves a deployment, from its start to its end: it gives it requests, hears what becomes of them,
// and condemns it when a limit is broken. deployment.ts makes one whenever it has none.
import { performance } from 'node:perf_hooks';
import { errorMessage, PlatformError, type ErrorDetails } from '#core/errors.ts';
import type { Limits } from '#core/limits.ts';
import type { Plan } from '#core/plans.ts';
import type { CallOwner, HostFunctions } from '../bridge/host-calls.ts';
import type { HostMemory } from '../bridge/host-memory.ts';
import { Link, type LinkEvents } from '../bridge/link.ts';
import type { Failure, Part } from '../bridge/protocol.ts';
import { InFlight } from '../bridge/in-flight.ts';
import type { Delivery } from '../invocation/delivery.ts';
import type { CpuMeter, Invocation } from '../invocation/invocation.ts';
import type { LogLine } from '../invocation/log.ts';
import type { DeploymentCounters, EngineCounters } from '../metrics/counters.ts';
import { failed, isFailureCode, ok, type Outcome } from '../invocation/outcome.ts';
import { StrayOwner } from './stray-owner.ts';
import { checksUntilStuck } from './stuck-entry.ts';
import { deathOf, endOfEvent } from './isolate-death.ts';
import type { DeathReason, WorkerIsolate } from '../isolates/isolate.ts';
import { withoutBadLength } from '../http/header-block.ts';
import type { Exchange } from '../http/listener.ts';

/** What a deployment runs. */
export interface DeploymentConfig {
  readonly id: string;
  readonly project: string;
  readonly plan: Plan;
  readonly vars: Readonly<Record<string, string>>;
  /** Binding name -> kind. */
  readonly bindings: Readonly<Record<string, string>>;
  /** The bundle and its hash. */
  readonly code: () => { readonly code: string; readonly hash: string };
  readonly sourceMap: () => string | null;
  /**
   * To be done before its worker is loaded: its migrations. Null when there is nothing, or no more. @throws
   * {PlatformError}
   */
  readonly prepare?: (() => Promise<void>) | null;
}

/** What serving needs beside its isolate. */
export interface ServingParts {
  /** Of the deployment. */
  readonly counters: DeploymentCounters;
  readonly engineCounters: EngineCounters;
  readonly hostFunctions: HostFunctions;
  readonly limits: Limits;
  /** Headers as the worker gets them: with its client's true address. */
  readonly clientHeaders: (headerBlock: string, remoteAddress: string) => string;
  /** Scheme that workers see in `request.url`. */
  readonly protocol: 'http' | 'https';
  /** A handler that called `passThroughOnException` threw: true when the request was answered otherwise. */
  readonly passThrough: (exchange: Exchange, deployment: DeploymentConfig) => boolean;
}

/** The deployment that is served. */
export interface ServingOwner {
  readonly config: DeploymentConfig;
  /** Open WebSockets in all its isolates. */
  readonly openSockets: { count: number };
  /** Ends an invocation: the response where none is out yet, the log, the record. */
  end(invocation: AnyInvocation, outcome: Outcome, now?: number): void;
  log(level: LogLine['level'], text: string, invocation: AnyInvocation | null): void;
}

/** An invocation that an HTTP request waits for. */
export type HttpInvocation = Invocation<Exchange>;
/** An invocation of an event that is no request. */
export type EventInvocation = Invocation<Delivery>;
export type AnyInvocation = HttpInvocation | EventInvocation;

/** Whether a request waits for it. */
export function isHttp(invocation: AnyInvocation): invocation is HttpInvocation {
  return invocation.kind === 'http';
}

/** The listener reads no further once the response is out. */
const bodyGone: Failure = {
  code: 'invocation_ended',
  name: 'TypeError',
  message: 'The request body can no longer be read: its response is out',
};
/** How often an open WebSocket has a new budget without a message. */
const RENEWAL_MS = 10_000;
/** Host work of which its isolate hears nothing. */
const TOLD_MS = 1;
/** After so many requests in a row that nothing can answer a fresh isolate takes its place. */
const UNANSWERED_MAX = 2;
const HANDLES_MAX = 1000;
const CALLS_MAX = 10_000;

/** What the deployment hears of it. */
interface ServingHooks {
  /** An invocation that lost its isolate before it had any effect. */
  readonly onRestart: (invocation: AnyInvocation) => void;
  /** The worker is loaded. */
  readonly onReady: () => void;
  readonly onStartFailed: (outcome: Outcome & { kind: 'failed' }) => void;
  readonly onCondemned: () => void;
  readonly onGone: () => void;
}

/** One isolate that serves a deployment, from its start to its end. */
export class Serving implements LinkEvents, CpuMeter {
  #deployment: ServingOwner;
  #parts: ServingParts;
  #isolate: WorkerIsolate;
  #hooks: ServingHooks;
  #link: Link;
  #state: 'starting' | 'ready' | 'condemned' | 'gone' = 'starting';
  #running = new InFlight<AnyInvocation>();
  /** Ended in the entry being read: their CPU is known when all of it is read. */
  #ended: { invocation: AnyInvocation; outcome: Outcome }[] = [];
  #timer: NodeJS.Timeout | null = null;
  /** Entries since it was last trimmed, and invocations that ended in them. */
  uses = 0;
  /** Invocations whose response is an open WebSocket. */
  upgraded = 0;
  /** Requests in a row that could never be answered: its worker may have broken what answers are made with. */
  #unanswered = 0;
  /** It died in an entry that brought requests too: its top level need not have done it. */
  #diedServing = false;
  #topLevelTimer: NodeJS.Timeout | undefined;
  /** An entry's answer is being read. */
  #isReading = false;
  /** Work of the host that is no invocation's. */
  #stray: StrayOwner;
  /**
   * The entry being read answered `start`: while a top-level `await` is pending, every other entry makes us ask again.
   */
  #asked = false;

  constructor(
    deployment: ServingOwner,
    parts: ServingParts,
    isolate: WorkerIsolate,
    memory: HostMemory,
    hooks: ServingHooks,
  ) {
    this.#deployment = deployment;
    this.#parts = parts;
    this.#isolate = isolate;
    this.#hooks = hooks;
    this.#link = new Link({
      memory,
      hostFunctions: parts.hostFunctions,
      limits: { ...parts.limits, handlesMax: HANDLES_MAX, callsMax: CALLS_MAX },
      events: this,
      openSockets: deployment.openSockets,
      request: () => isolate.request(),
    });
    this.#stray = new StrayOwner({
      limitMs: () =>
        this.#state === 'starting' ? parts.limits.startupCpuMs : parts.limits.cpu.http[deployment.config.plan],
      settled: (cpuMs) => parts.counters.chargeHost(null, cpuMs),
    });
    this.#link.start();
  }

  get load(): number {
    return this.#running.size;
  }

  /** Its code runs: an entry is on a thread. */
  get isEntered(): boolean {
    const { entryState } = this.#isolate;
    return entryState !== 'idle' && entryState !== 'ready';
  }

  get isStarting(): boolean {
    return this.#state === 'starting';
  }

  /**
   * Reads the worker's code and gives it to the isolate, before the first entry; every way this can fail ends what
   * waits.
   */
  loadWorker(): void {
    if (this.#state === 'gone') return;
    const { config } = this.#deployment;
    try {
      this.#isolate.load(
        {
          ...config.code(),
          vars: config.vars,
          bindings: config.bindings,
          cpuLimitMs: this.#parts.limits.cpu.http[config.plan],
          owner: `${config.project}/${config.id}`,
        },
        this.#link.records,
        {
          left: (meta, text, shareMs, cpuMs, bytes) => this.#left(meta, text, shareMs, cpuMs, bytes),
          sync: (name, args, part) => this.#link.calls.sync(name, args, part),
          waiting: (id, name, args, parts) => this.#link.calls.waiting(this.owner(id), name, args, parts),
          died: (reason, error) => this.#died(reason, error),
        },
      );
    } catch (error) {
      const { code, details, message } = error as { code?: unknown; details?: ErrorDetails; message: string };
      if (typeof code === 'string' && isFailureCode(code)) {
        this.#failStart(failed(code, details));
      } else {
        this.#deployment.log('error', String((error as Error).stack ?? message), null);
        this.dispose(failed('internal'));
      }
    }
  }

  overflowed(): void {
    // Not in the middle of what is going on with the link.
    queueMicrotask(() => this.#died('memory', null));
  }

  started(state: string, reason: string): void {
    if (this.#state !== 'starting') return;
    this.#asked = true;
    const { startupCpuMs, startupWallMs, isolateMemoryMb } = this.#parts.limits;
    if (state === 'ready') {
      clearTimeout(this.#topLevelTimer);
      this.#state = 'ready';
      this.#hooks.onReady();
    } else if (state === 'pending') {
      this.#topLevelTimer ??= setTimeout(() => {
        this.#failStart(
          failed('worker_start_failed', { reason: `a top-level await did not settle within ${startupWallMs} ms` }),
        );
      }, startupWallMs);
    } else if (state === 'syntax') this.#failStart(failed('worker_syntax_error', { reason }));
    else if (state === 'cpu') this.#failStart(failed('startup_cpu_limit_exceeded', { limitMs: startupCpuMs }));
    else if (state === 'memory') this.#failStart(failed('memory_limit_exceeded', { limitMb: isolateMemoryMb }));
    else if (state === 'no-handler') this.#failStart(failed('no_fetch_handler'));
    else this.#failStart(failed('worker_start_failed', { reason }));
  }

  #failStart(outcome: Outcome & { kind: 'failed' }): void {
    this.#deployment.log('error', errorMessage(outcome.code, outcome.details), null);
    this.dispose(outcome);
  }

  /** @param body of a request: null without one, undefined when it streams in. */
  start(invocation: AnyInvocation, body: Part | null | undefined): void {
    if (invocation.phase === 'over') return;
    const id = this.#running.add(invocation);
    invocation.id = id;
    invocation.phase = 'running';
    invocation.meter = this;
    if (!isHttp(invocation)) {
      this.#link.sendEvent(id, invocation.kind, this.#cpuLimitMs(invocation), invocation.answer.event);
      return;
    }
    const exchange = invocation.answer;
    // In two steps, here and wherever a request makes one: V8 makes a closure that goes to a property at once in the
    // old generation, where it holds on to all of its request until the next full collection
    // (docs/decisions/53-closures-of-a-request.md).
    const onAbort = (): void => this.#clientGone(invocation);
    exchange.onAbort = onAbort;
    const headerBlock = this.#parts.clientHeaders(exchange.headerBlock, exchange.remoteAddress);
    this.#link.sendRequest(
      id,
      exchange.method,
      `${this.#parts.protocol}://${exchange.host}${exchange.target}`,
      headerBlock,
      body,
    );
    if (body !== undefined) return;
    const stream = this.#link.openBody(id, {
      resume: () => exchange.resumeBody(),
      cancel: () => exchange.resumeBody(),
    });
    exchange.readBody({ chunk: (bytes) => stream.write(bytes, true), end: () => stream.end() });
  }

  #cpuLimitMs({ kind }: AnyInvocation): number {
    return this.#parts.limits.cpu[kind][this.#deployment.config.plan];
  }

  #clientGone(invocation: HttpInvocation): void {
    if (invocation.phase === 'running') {
      this.#running.remove(invocation.id);
      this.#link.closeSockets(1001, '', invocation.id);
      this.#link.abort(invocation.id, {
        code: 'client_gone',
        name: 'AbortError',
        message: errorMessage('client_gone'),
      });
    } else {
      // The response is on its way: its stream ends, what `waitUntil` was given goes on.
      this.#link.cancelStream(invocation.id);
      return;
    }
    this.#deployment.end(invocation, failed('client_gone'));
    this.#settle();
  }

  #left(meta: string, text: string, shareMs: number, cpuMs: number, bytes: readonly Uint8Array[]): void {
    const { counters } = this.#parts;
    this.#asked = false;
    counters.entered(cpuMs, shareMs);
    this.#isReading = true;
    this.#link.receive(meta, text, bytes);
    this.#isReading = false;
    if (this.#state === 'starting' && !this.#asked) this.#link.start();
    this.uses += 1 + this.#ended.length;
    const now = this.#ended.length > 0 ? performance.now() : 0;
    for (const { invocation, outcome } of this.#ended) {
      if (!invocation.charged) {
        invocation.cpuMs += shareMs;
        counters.charge(invocation.kind, shareMs);
      }
      this.#deployment.end(invocation, outcome, now);
    }
    if (this.#ended.length > 0) {
      this.#ended.length = 0;
      this.#settle();
    }
  }

  #over(id: number, outcome: Outcome): void {
    const invocation = this.#running.remove(id);
    if (invocation === undefined) return;
    this.#link.breakBody(id, bodyGone);
    this.#ended.push({ invocation, outcome });
    if (outcome.kind === 'ok') this.#link.closeSockets(1001, '', id);
    else
      this.#link.closeSockets(
        outcome.code === 'isolate_replaced' ? 1012 : 1011,
        errorMessage(outcome.code, outcome.details).slice(0, 100),
        id,
      );
    if (invocation.isSocketOpen) {
      invocation.isSocketOpen = false;
      this.upgraded--;
    }
  }

  response(id: number, status: number, headerBlock: string, body: Part | null | undefined, over: boolean): void {
    const invocation = this.#running.get(id);
    if (invocation === undefined || !isHttp(invocation)) {
      if (body === undefined) this.#refuseStream(id);
      return;
    }
    this.#unanswered = 0;
    const exchange = invocation.answer;
    invocation.status = status;
    try {
      if (body !== undefined) {
        exchange.send(status, headerBlock, body, true);
        invocation.phase = 'answered';
        this.#link.breakBody(id, bodyGone);
      } else {
        exchange.begin(status, headerBlock);
        invocation.phase = 'answered';
        if (exchange.method === 'HEAD') {
          exchange.end();
          this.#refuseStream(id);
          return;
        }
        const stream = this.#link.receiveStream(id, {
          write: (chunk, spent) => exchange.write(chunk, spent),
          end: () => {
            exchange.end();
            this.#link.breakBody(id, bodyGone);
          },
          destroy: () => exchange.destroy(),
        });
        const onDrain = (): void => stream.drained();
        exchange.onDrain = onDrain;
      }
    } catch (error) {
      const mended = withoutBadLength(headerBlock, error);
      if (mended !== null) {
        this.#deployment.log(
          'warn',
          'The content-length of the response is not sent, since it is no number',
          invocation,
        );
        this.response(id, status, mended, body, over);
        return;
      }
      this.#deployment.log('error', `The response cannot be sent: ${(error as Error).message}`, invocation);
      if (body === undefined) this.#refuseStream(id);
      this.#over(id, unsent(error as Error));
      return;
    }
    if (exchange.refusedCookies !== '') this.#warnOfCookies(invocation);
    if (over) this.#over(id, ok);
  }

  #warnOfCookies(invocation: HttpInvocation): void {
    const { refusedCookies, host } = invocation.answer;
    this.#deployment.log(
      'warn',
      `Cookies are not sent, since their Domain is not the host of the request (${host}): ${refusedCookies}`,
      invocation,
    );
  }

  eventResult(id: number, result: string, over: boolean): void {
    const invocation = this.#running.get(id);
    if (invocation === undefined || isHttp(invocation)) return;
    const { deliveryBytesMax } = this.#parts.limits;
    if (result.length > deliveryBytesMax) {
      const reason = `what the handler answers has ${result.length} characters as JSON, and may have ${deliveryBytesMax}`;
      this.#deployment.log('error', `The event fails: ${reason}`, invocation);
      this.#over(id, failed('worker_threw', { reason }));
      return;
    }
    invocation.answer.result = result;
    invocation.phase = 'answered';
    if (over) this.#over(id, ok);
  }

  /** A body that nobody wants: the guest stops sending it. */
  #refuseStream(id: number): void {
    this.#link.receiveStream(id, discard);
    this.#link.cancelStream(id);
  }

  upgrade(id: number, headerBlock: string): void {
    const invocation = this.#running.get(id);
    if (invocation === undefined || !isHttp(invocation)) return;
    invocation.status = 101;
    try {
      const socket = this.#link.openSocket(id, id);
      const wire = invocation.answer.upgrade(headerBlock, socket);
      if (wire === null) throw new Error('status 101 answers a WebSocket handshake only, and the request was none');
      invocation.phase = 'answered';
      if (invocation.answer.refusedCookies !== '') this.#warnOfCookies(invocation);
      invocation.answer.onAbort = null;
      invocation.isSocketOpen = true;
      this.upgraded++;
      socket.attach(wire);
      if (this.#state === 'condemned') socket.close(1012, 'Service restart');
    } catch (error) {
      this.#link.forgetSocket(id);
      const { message, code, details } = error as { message: string; code?: unknown; details?: ErrorDetails };
      this.#deployment.log('error', `The response cannot be sent: ${message}`, invocation);
      const isBound = code === 'websocket_limit_exceeded' || code === 'host_memory_exceeded';
      this.#over(id, isBound ? failed(code, details) : failed('worker_threw', { reason: message }));
    }
  }

  socketClosed(id: number): void {
    const invocation = this.#find(id);
    if (invocation === undefined || !invocation.isSocketOpen) return;
    invocation.isSocketOpen = false;
    // What its `close` event began has the time of a request.
    invocation.wallFrom = performance.now();
    this.upgraded--;
  }

  closeSockets(code: number, reason: string): void {
    this.#link.closeSockets(code, reason);
  }

  failed(id: number, failure: Failure): void {
    const invocation = this.#running.get(id);
    if (invocation === undefined) return;
    if (failure.code === 'worker_threw') {
      this.#deployment.log('error', `Uncaught ${failure.stack ?? `${failure.name}: ${failure.message}`}`, invocation);
      if (
        failure.passThrough === true &&
        isHttp(invocation) &&
        this.#parts.passThrough(invocation.answer, this.#deployment.config)
      ) {
        invocation.phase = 'answered';
        return;
      }
    }
    const outcome = toOutcome(failure);
    if (failure.code !== 'worker_threw')
      this.#deployment.log('error', errorMessage(outcome.code, outcome.details), invocation);
    this.#over(id, outcome);
  }

  done(id: number): void {
    // Over without an answer is none of ours to believe: its client would wait for ever.
    this.#over(id, this.#running.get(id)?.phase === 'running' ? failed('no_response', { got: 'nothing' }) : ok);
  }

  log(id: number, level: string, text: string): void {
    const known = level === 'debug' || level === 'info' || level === 'warn' || level === 'error' ? level : 'info';
    this.#deployment.log(known, text, this.#find(id) ?? null);
  }

  wake(at: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (!(at >= 0) || this.#state === 'gone') return;
    const now = Number(process.hrtime.bigint()) / 1e6;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#link.runTimers();
      },
      Math.min(Math.max(0, at - now), 2 ** 31 - 1),
    );
  }

  charge(id: number, cpuMs: number): void {
    const invocation = this.#find(id);
    if (invocation !== undefined) this.#charge(invocation, cpuMs);
  }

  /**
   * @param cpuMs all it has used so far in this isolate. @throws {Error} where that is less than it was: a guest takes
   * nothing back.
   */
  #charge(invocation: AnyInvocation, cpuMs: number, mayEnd = true): void {
    const usedMs = invocation.lostCpuMs + cpuMs;
    if (usedMs < invocation.cpuMs)
      throw new Error(`A guest says that ${usedMs} ms were used after ${invocation.cpuMs} ms`);
    this.#parts.counters.charge(invocation.kind, usedMs - invocation.cpuMs);
    invocation.cpuMs = usedMs;
    invocation.charged = true;
    if (mayEnd && invocation.hostCpuMs > 0 && this.leftOf(invocation) <= 0) this.#overspent(invocation, 0);
  }

  /** Of the budget it has now. */
  #usedOf({ totalCpuMs, cpuBefore, hostCpuBefore }: AnyInvocation): number {
    return totalCpuMs - cpuBefore - hostCpuBefore;
  }

  leftOf(invocation: AnyInvocation): number {
    const limitMs = this.#cpuLimitMs(invocation);
    return limitMs === 0 ? Number.POSITIVE_INFINITY : limitMs - this.#usedOf(invocation);
  }

  reserve(invocation: AnyInvocation, cpuMs: number): void {
    if (cpuMs > this.leftOf(invocation)) {
      this.#overspent(invocation, cpuMs);
      throw new PlatformError('cpu_limit_exceeded');
    }
    invocation.reservedCpuMs += cpuMs;
  }

  settle(invocation: AnyInvocation, reservedMs: number, usedMs: number): void {
    invocation.reservedCpuMs -= reservedMs;
    invocation.hostCpuMs += usedMs;
    this.#parts.counters.chargeHost(invocation.kind, usedMs);
    if (invocation.phase === 'over') return;
    if (this.leftOf(invocation) <= 0) this.#overspent(invocation, 0);
    else if (invocation.hostCpuMs - invocation.hostCpuReported >= TOLD_MS) {
      invocation.hostCpuReported = invocation.hostCpuMs;
      this.#link.tellCpu(invocation.id, invocation.hostCpuMs - invocation.hostCpuBefore);
    }
  }

  /**
   * The host's work for an invocation is more than its budget: it is over. Its isolate is not to blame, and serves on.
   *
   * @param moreMs what it asked for in addition.
   */
  #overspent(invocation: AnyInvocation, moreMs: number): void {
    const limitMs = this.#cpuLimitMs(invocation);
    const usedMs = Math.round(this.#usedOf(invocation) + moreMs);
    const { plan } = this.#deployment.config;
    this.#deployment.log(
      'error',
      `CPU limit exceeded: used ${usedMs} ms of ${limitMs} ms (plan ${plan}), most of it by work of the host`,
      invocation,
    );
    this.#endNow(invocation, failed('cpu_limit_exceeded', { limitMs, usedMs }), 'CPU limit exceeded');
  }

  /** Ends an invocation from outside, whatever its code does. */
  #endNow(invocation: AnyInvocation, outcome: Outcome & { kind: 'failed' }, socketReason: string): void {
    const { id } = invocation;
    if (this.#running.remove(id) === undefined) return;
    const message = errorMessage(outcome.code, outcome.details);
    this.#link.abort(id, { code: outcome.code, name: 'TimeoutError', message });
    this.#link.cancelStream(id);
    this.#link.closeSockets(1011, socketReason, id);
    if (invocation.isSocketOpen) {
      invocation.isSocketOpen = false;
      this.upgraded--;
    }
    if (this.#isReading) this.#ended.push({ invocation, outcome });
    else {
      this.#deployment.end(invocation, outcome);
      this.#settle();
    }
  }

  /** One that runs, or ended in the entry being read. */
  #find(id: number): AnyInvocation | undefined {
    return this.#running.get(id) ?? this.#ended.find((entry) => entry.invocation.id === id)?.invocation;
  }

  breach(id: number, cpuMs: number, lost: readonly number[]): void {
    if (this.#state === 'starting') {
      this.#failStart(failed('startup_cpu_limit_exceeded', { limitMs: this.#parts.limits.startupCpuMs }));
      return;
    }
    const invocation = this.#running.get(id);
    const { plan } = this.#deployment.config;
    const limitMs = invocation === undefined ? this.#parts.limits.cpu.http[plan] : this.#cpuLimitMs(invocation);
    // Of a socket it is what the budget of its last message was used up with: its charge has come before.
    if (invocation !== undefined)
      this.#charge(invocation, Math.max(cpuMs, invocation.cpuMs - invocation.lostCpuMs), false);
    const usedMs = Math.round(cpuMs + (invocation === undefined ? 0 : invocation.hostCpuMs - invocation.hostCpuBefore));
    // One that the host has ended before has been told of.
    if (invocation !== undefined || id === 0)
      this.#deployment.log(
        'error',
        `CPU limit exceeded: used ${usedMs} ms of ${limitMs} ms (plan ${plan})`,
        invocation ?? null,
      );
    if (invocation !== undefined) this.#over(id, failed('cpu_limit_exceeded', { limitMs, usedMs }));
    this.#condemn();
    // What the entry had not come to read yet is read by the next one.
    this.#link.runTimers();
    for (const other of lost) this.#restart(other, 1);
  }

  unstarted(id: number): void {
    if (this.#state === 'condemned') this.#restart(id, 0);
  }

  /** Runs a request again in a fresh isolate; one that may have had an effect is answered that it is lost. */
  #restart(id: number, restarts: 0 | 1): void {
    const invocation = this.#running.get(id);
    if (invocation === undefined) return;
    if (!mayRestart(invocation)) {
      this.#over(id, failed('isolate_replaced', { reason: 'another request used up its CPU budget' }));
      return;
    }
    this.#running.remove(id);
    invocation.restarts += restarts;
    invocation.lostCpuMs = invocation.cpuMs;
    this.#parts.engineCounters.restartedRequests++;
    invocation.phase = 'waiting';
    this.#hooks.onRestart(invocation);
  }

  hung(ids: readonly number[]): void {
    for (const id of ids) {
      const invocation = this.#running.get(id);
      if (invocation === undefined) continue;
      if (invocation.phase === 'running') {
        this.#deployment.log('error', errorMessage('never_answered'), invocation);
        this.#unanswered++;
      }
      // After the answer there is only `waitUntil`, which can never settle: nothing is lost by ending it.
      this.#over(id, invocation.phase === 'answered' && !this.#link.isReceiving(id) ? ok : failed('never_answered'));
    }
    if (this.#unanswered >= UNANSWERED_MAX) this.#condemn();
  }

  owner(id: number): CallOwner {
    const invocation = this.#running.get(id);
    if (invocation === undefined) return this.#stray;
    invocation.calls++;
    if (invocation.isSocketOpen) {
      const now = performance.now();
      if (now - invocation.budgetFrom >= RENEWAL_MS) renewBudget(invocation, now);
    }
    return invocation;
  }

  messaged(id: number): void {
    const invocation = this.#running.get(id);
    if (invocation !== undefined) renewBudget(invocation, performance.now());
  }

  // It takes no new work, finishes what it can, and a fresh isolate takes its place.
  #condemn(): void {
    if (this.#state !== 'ready') return;
    this.#state = 'condemned';
    this.#parts.engineCounters.isolatesCondemned++;
    this.#hooks.onCondemned();
    this.#link.closeSockets(1012, 'Service restart');
  }

  #settle(): void {
    if (this.#state === 'condemned' && this.load === 0) this.dispose(ok);
  }

  #died(reason: DeathReason, error: unknown): void {
    this.#diedServing = this.#running.size > 0;
    const { outcome, message, countsAs } = deathOf(reason, error, this.#parts.limits.isolateMemoryMb);
    if (countsAs !== null) this.#parts.engineCounters[countsAs]++;
    this.#deployment.log('error', message, null);
    this.dispose(outcome, endOfEvent(outcome));
  }

  /** The engine holds too much, and this isolate most of it. */
  disposeForMemory(): void {
    this.#died('memory', null);
  }

  async trim(): Promise<void> {
    this.uses = 0;
    if (this.#state === 'ready') await this.#isolate.trim().catch(() => {});
  }

  /** 0 where it cannot be asked. */
  heapBytes(): Promise<number> {
    return this.#state === 'gone' ? Promise.resolve(0) : this.#isolate.heapBytes().catch(() => 0);
  }

  checkAlive(): void {
    this.#isolate.checkAlive(this.#looksMax);
  }

  #looksMax = (): number => {
    // The entry that starts it brings its first requests as well.
    const startupMs = this.#state === 'starting' ? this.#parts.limits.startupCpuMs : null;
    return checksUntilStuck(this.#cpuLimitsMs(), startupMs);
  };

  /** Of a request, which timers and the like have as well, and of all that runs. */
  *#cpuLimitsMs(): Generator<number> {
    yield this.#parts.limits.cpu.http[this.#deployment.config.plan];
    for (const invocation of this.#running.values()) yield this.#cpuLimitMs(invocation);
  }

  checkWall(now: number): void {
    const { limits } = this.#parts;
    for (const invocation of this.#running.values()) {
      const wallMs = isHttp(invocation) ? limits.wallMs : limits.eventWallMs;
      if (invocation.isSocketOpen || now - invocation.wallFrom < wallMs) continue;
      this.#deployment.log('error', errorMessage('wall_limit_exceeded', { limitMs: wallMs }), invocation);
      this.#endNow(invocation, failed('wall_limit_exceeded', { limitMs: wallMs }), 'Wall limit exceeded');
    }
    this.#settle();
  }

  /** The end: whatever runs or waits ends with the outcome. */
  dispose(outcome: Outcome, ofEvents = outcome): void {
    if (this.#state === 'gone') return;
    if (this.#state === 'starting' && outcome.kind === 'failed' && !this.#diedServing)
      this.#hooks.onStartFailed(outcome);
    this.#state = 'gone';
    if (this.#timer !== null) clearTimeout(this.#timer);
    clearTimeout(this.#topLevelTimer);
    const isFault = outcome.kind === 'failed' && outcome.code !== 'isolate_replaced' && outcome.code !== 'draining';
    this.#link.close(isFault ? 1011 : 1012, isFault ? 'Internal error' : 'Service restart');
    this.#isolate.dispose();
    this.#hooks.onGone();
    for (const invocation of this.#running.values()) {
      this.#running.remove(invocation.id);
      this.#deployment.end(invocation, isHttp(invocation) ? outcome : ofEvents);
    }
    // Those that ended in an answer which makes no sense further on.
    for (const ended of this.#ended.splice(0)) this.#deployment.end(ended.invocation, ended.outcome);
  }
}

const discard = { write: () => true, end: () => {}, destroy: () => {} };

function toOutcome({ code, name, message, stack }: Failure): Outcome & { kind: 'failed' } {
  if (code === 'no_response') return failed(code, { got: message });
  if (code === 'illegal_response') return failed(code, { what: message });
  if (code === 'no_event_handler') return failed(code, { handler: message });
  if (code === 'worker_threw')
    return { kind: 'failed', code, details: { reason: message }, thrown: { name, message, stack: stack ?? null } };
  return isFailureCode(code) ? failed(code) : failed('internal');
}

/**
 * A message of a WebSocket has a budget of its own, and what an open one does without a message has one now and then:
 * as in the guest.
 */
function renewBudget(invocation: AnyInvocation, now: number): void {
  invocation.budgetFrom = now;
  invocation.cpuBefore = invocation.cpuMs;
  invocation.hostCpuBefore = invocation.hostCpuMs;
}

/** The end of an invocation whose response the listener refuses. */
function unsent(error: Error): Outcome & { kind: 'failed' } {
  const { code, details, message } = error as Partial<PlatformError> & Error;
  return code === 'illegal_response' ? failed(code, details) : failed('worker_threw', { reason: message });
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
