// One event that is being served, on the host: its client, its usage, its end. Created per request, so it has plain
// fields and no closures.
import { PlatformError } from '#core/errors.ts';
import type { ObjectAddress } from '#core/object-address.ts';
import type { InvocationKind } from '#core/plans.ts';
import type { Part } from '../bridge/protocol.ts';
import type { Exchange } from '../http/listener.ts';
import type { Delivery } from './delivery.ts';
import { eventRecord, type EventRecord } from './event-record.ts';
import type { InvocationIds } from './invocation-id.ts';
import type { InvocationSpans } from '../tracing/invocation-spans.ts';
import type { Outcome } from './outcome.ts';
import { parseTraceparent, traceFrom, type TraceContext } from '../tracing/trace.ts';

/** The phase of an invocation. `answered` means that the response is sent, and `waitUntil` or the stream continues. */
type Phase = 'waiting' | 'running' | 'answered' | 'over';

/** The accounts for host CPU of invocations. */
export interface CpuMeter {
  leftOf(invocation: Invocation<unknown>): number;
  /** @throws {PlatformError} `cpu_limit_exceeded`. */
  reserve(invocation: Invocation<unknown>, cpuMs: number): void;
  settle(invocation: Invocation<unknown>, reservedMs: number, usedMs: number): void;
}

/** @template Answer the recipient of the response. */
export class Invocation<Answer> {
  /** Number of the invocation in its isolate, while it runs. */
  id = 0;
  phase: Phase = 'waiting';
  readonly kind: InvocationKind;
  readonly answer: Answer;
  /** `performance.now()` at its arrival. */
  readonly startedAt: number;
  status = 0;
  /**
   * `performance.now()` when the first byte and the end of its response were sent; 0 stands for the end of the
   * invocation.
   */
  firstByteAt = 0;
  answeredAt = 0;
  /** CPU of the invocation's own code. */
  cpuMs = 0;
  /** The part of `cpuMs` that was used in isolates that the invocation has lost. */
  lostCpuMs = 0;
  /** CPU that the host used for the invocation, and reservations for unfinished work. */
  hostCpuMs = 0;
  reservedCpuMs = 0;
  /** The part of `cpuMs` and `hostCpuMs` that belonged to earlier budgets. */
  cpuBefore = 0;
  hostCpuBefore = 0;
  /** The part of `hostCpuMs` that was reported to the isolate. */
  hostCpuReported = 0;
  /** When the current budget of an open WebSocket began. */
  budgetFrom = 0;
  /** CPU account of the invocation; null until it runs. */
  meter: CpuMeter | null = null;
  /** Whether the running entry charged this invocation separately, so that its share is not added. */
  charged = false;
  /** Number of host calls. An invocation without host calls has had no effect, and may run again. */
  calls = 0;
  subrequests = 0;
  /** Number of restarts after the loss of its isolate. */
  restarts = 0;
  /** Whether the invocation is a binding call of the deployment's own server. */
  isCall = false;
  /** Whether the response is an open WebSocket. The wall limit then begins when the socket is closed. */
  isSocketOpen = false;
  /** Whether the invocation was answered, and only continues with work of an object. */
  hasWorkLeft = false;
  /**
   * Whether the client disconnected before a response. The invocation then runs to its end, and its response is
   * discarded.
   */
  isClientGone = false;
  /** Why the invocation has no response while its work continues, or null. */
  failure: (Outcome & { kind: 'failed' }) | null = null;
  /** The target of an event of a durable object; otherwise null. */
  object: ObjectEvent | null = null;
  /** How long the invocation may run, in ms; 0 means the default of its kind. */
  wallMsMax = 0;
  /** The spans of its trace; null if the trace is not sampled. */
  spans: InvocationSpans | null = null;
  /** When its wall time began, in ms of `performance.now()`. */
  wallFrom: number;
  #subrequestsMax: number;
  #ids: InvocationIds;
  #number: number;
  #trace: TraceContext | null | undefined = undefined;
  #event: EventRecord | null | undefined = undefined;
  #atExit: (() => void)[] | null = null;

  constructor(ids: InvocationIds, kind: InvocationKind, answer: Answer, startedAt: number, subrequestsMax: number) {
    this.#ids = ids;
    this.#number = ++ids.last;
    this.kind = kind;
    this.answer = answer;
    this.startedAt = startedAt;
    this.wallFrom = startedAt;
    this.#subrequestsMax = subrequestsMax;
  }

  /** Id of the invocation in the log, unique over all engines. */
  get uid(): string {
    return this.#ids.prefix + this.#number;
  }

  /** The trace of its request; parsed on demand. */
  get trace(): TraceContext | null {
    if (this.spans !== null) return this.spans.context;
    if (this.#trace === undefined) {
      const { headerBlock, event } = this.answer as Partial<Pick<Exchange, 'headerBlock'> & Pick<Delivery, 'event'>>;
      this.#trace = headerBlock === undefined ? parseTraceparent(event?.traces?.[0] ?? '') : traceFrom(headerBlock);
    }
    return this.#trace;
  }

  /** Host of the request; null for other events. */
  host(): string | null {
    return (this.answer as { readonly host?: string }).host ?? null;
  }

  /** A header of the request, by its lower-case name; null for other events. */
  header(name: string): string | null {
    return (this.answer as Partial<Pick<Exchange, 'header'>>).header?.(name) ?? null;
  }

  /** The workflow run of which the invocation is an attempt, or null. */
  run(): { readonly workflow: string; readonly id: string } | null {
    return this.kind === 'workflow' && this.event !== null ? { workflow: this.event.name, id: this.event.id } : null;
  }

  /** The description of its event; null if the invocation has an exchange. Parsed on demand. */
  get event(): EventRecord | null {
    if (this.#event === undefined) {
      const { kind, event } = this.answer as Partial<Pick<Delivery, 'kind' | 'event'>>;
      this.#event = kind === undefined || event === undefined ? null : eventRecord(kind, event.head);
    }
    return this.#event;
  }

  countSubrequest(): void {
    this.subrequests++;
    if (this.subrequests > this.#subrequestsMax)
      throw new PlatformError('subrequest_limit_exceeded', { limit: this.#subrequestsMax });
  }

  /** The total CPU that the invocation has caused. */
  get totalCpuMs(): number {
    return this.cpuMs + this.hostCpuMs + this.reservedCpuMs;
  }

  /**
   * The time from the arrival of the invocation to the first byte of its response, or to `now` if the whole response is
   * sent then; -1 if the client disconnected before.
   */
  firstByteMs(now: number): number {
    return this.isClientGone ? -1 : (this.firstByteAt === 0 ? now : this.firstByteAt) - this.startedAt;
  }

  /**
   * The time from the arrival of the invocation to the end of its response; -1 if the client disconnected before, or a
   * WebSocket was opened.
   */
  answerMs(now: number): number {
    // The time during which a WebSocket was open is not latency.
    if (this.isClientGone || this.status === 101) return -1;
    return (this.answeredAt === 0 ? now : this.answeredAt) - this.startedAt;
  }

  get isOver(): boolean {
    return this.phase === 'over';
  }

  get cpuLeftMs(): number {
    return this.meter?.leftOf(this) ?? 0;
  }

  reserveCpu(cpuMs: number): void {
    if (this.meter === null || this.phase === 'over')
      throw new PlatformError('invocation_ended', { what: 'Work of the host' });
    this.meter.reserve(this, cpuMs);
  }

  settleCpu(reservedMs: number, usedMs: number): void {
    this.meter?.settle(this, reservedMs, usedMs);
  }

  atExit(run: () => void): void {
    if (this.phase === 'over') run();
    else (this.#atExit ??= []).push(run);
  }

  /** Called when the invocation has ended, and none of its work continues. */
  close(): void {
    this.phase = 'over';
    if (this.#atExit === null) return;
    for (const run of this.#atExit) run();
    this.#atExit = null;
  }
}

/** The target of an event of a durable object. */
export interface ObjectEvent {
  readonly address: ObjectAddress;
  /** The counter of the object's open WebSockets; absent before the event starts. */
  sockets?: { open: number };
  /** The event, if it is of a WebSocket that the engine keeps; otherwise null. */
  readonly socketEvent: KeptSocketEvent | null;
}

/** An event of a WebSocket that the engine of an object keeps (serving/objects/object-sockets.ts). */
interface KeptSocketEvent {
  readonly data: Part | null;
  /** How long the event may run; 0 means the default. */
  readonly msMax: number;
  /** Whether the object has begun to handle the event, which is then not repeated. */
  isBegun: boolean;
  ended(outcome: Outcome): void;
}

/** An invocation with a waiting HTTP request. */
export type HttpInvocation = Invocation<Exchange>;
/** An invocation of an event other than a request. */
export type EventInvocation = Invocation<Delivery>;
export type AnyInvocation = HttpInvocation | EventInvocation;

/** Whether an exchange waits for the invocation, as for a client's request or an event of a durable object. */
export function isHttp(invocation: AnyInvocation): invocation is HttpInvocation {
  return invocation.kind === 'http' || invocation.kind === 'object';
}
