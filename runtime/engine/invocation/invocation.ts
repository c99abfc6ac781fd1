// One event being served, on the host: who waits for it, what it has used, how it ended. Made per request, so it holds
// plain fields and no closures.
import { PlatformError } from '#core/errors.ts';
import type { InvocationKind } from '#core/plans.ts';
import type { Exchange } from '../http/listener.ts';
import type { Delivery } from './delivery.ts';
import { eventRecord } from './event-record.ts';
import type { InvocationIds } from './invocation-id.ts';
import type { InvocationSpans } from '../telemetry/invocation-spans.ts';
import type { Outcome } from './outcome.ts';
import { parseTraceparent, traceFrom, type TraceContext } from './trace.ts';

/** How far an invocation is. `answered`: the response is out, `waitUntil` or its stream goes on. */
type Phase = 'waiting' | 'running' | 'answered' | 'over';

/** Keeps accounts of the CPU that the host spends for invocations. */
export interface CpuMeter {
  leftOf(invocation: Invocation<unknown>): number;
  /** @throws {PlatformError} `cpu_limit_exceeded`. */
  reserve(invocation: Invocation<unknown>, cpuMs: number): void;
  settle(invocation: Invocation<unknown>, reservedMs: number, usedMs: number): void;
}

/** @template Answer what the response goes to. */
export class Invocation<Answer> {
  /** Number in its isolate, while it runs. */
  id = 0;
  phase: Phase = 'waiting';
  readonly kind: InvocationKind;
  readonly answer: Answer;
  /** `performance.now()` when it came in. */
  readonly startedAt: number;
  status = 0;
  /** CPU of its own code. */
  cpuMs = 0;
  /** Of `cpuMs`: what it used in isolates that it lost. */
  lostCpuMs = 0;
  /** CPU that the host spent for it, and what is set aside for work that has not ended. */
  hostCpuMs = 0;
  reservedCpuMs = 0;
  /** Of `cpuMs` and `hostCpuMs`: what belonged to budgets before the one it has now. */
  cpuBefore = 0;
  hostCpuBefore = 0;
  /** Of `hostCpuMs`: what its isolate knows of. */
  hostCpuReported = 0;
  /** Since when an open WebSocket has the budget it has now. */
  budgetFrom = 0;
  /** Who keeps its account; null until it runs. */
  meter: CpuMeter | null = null;
  /** Set by a charge of its own in the running entry: then the entry's share is not added. */
  charged = false;
  /** Host calls made: an invocation that made none has had no effect and may run again. */
  calls = 0;
  subrequests = 0;
  /** Times it was started again after its isolate went. */
  restarts = 0;
  /** A call of a binding by the server of its own deployment. */
  isCall = false;
  /** Its response is an open WebSocket: the wall limit begins when that is closed. */
  isSocketOpen = false;
  /** Its client went before there was an answer: it runs on to its end, and what it answers goes nowhere. */
  isClientGone = false;
  /** Why it has no response, while its work goes on; null: none of that. */
  failure: (Outcome & { kind: 'failed' }) | null = null;
  /** Of its trace; null: it is not sampled. */
  spans: InvocationSpans | null = null;
  /** From when its wall time counts, in ms of `performance.now()`. */
  wallFrom: number;
  #subrequestsMax: number;
  #ids: InvocationIds;
  #number: number;
  #trace: TraceContext | null | undefined = undefined;
  #atEnd: (() => void)[] | null = null;

  constructor(ids: InvocationIds, kind: InvocationKind, answer: Answer, startedAt: number, subrequestsMax: number) {
    this.#ids = ids;
    this.#number = ++ids.last;
    this.kind = kind;
    this.answer = answer;
    this.startedAt = startedAt;
    this.wallFrom = startedAt;
    this.#subrequestsMax = subrequestsMax;
  }

  /** Unique over all engines: what the log calls it. */
  get uid(): string {
    return this.#ids.prefix + this.#number;
  }

  /** The trace its request belongs to; read when somebody asks for it. */
  get trace(): TraceContext | null {
    if (this.spans !== null) return this.spans.context;
    if (this.#trace === undefined) {
      const { headerBlock, event } = this.answer as Partial<Pick<Exchange, 'headerBlock'> & Pick<Delivery, 'event'>>;
      this.#trace = headerBlock === undefined ? parseTraceparent(event?.traces?.[0] ?? '') : traceFrom(headerBlock);
    }
    return this.#trace;
  }

  /** Host that the request came to; null for an event that is none. */
  host(): string | null {
    return (this.answer as { readonly host?: string }).host ?? null;
  }

  /** Of the request, by its name in lower case; null for an event that is none. */
  header(name: string): string | null {
    return (this.answer as Partial<Pick<Exchange, 'header'>>).header?.(name) ?? null;
  }

  /** The run of a workflow that it is an attempt of; null: none. */
  run(): { readonly workflow: string; readonly id: string } | null {
    if (this.kind !== 'workflow') return null;
    const { kind, event } = this.answer as unknown as Delivery;
    const { name, id } = eventRecord(kind, event.head);
    return { workflow: name, id };
  }

  countSubrequest(): void {
    this.subrequests++;
    if (this.subrequests > this.#subrequestsMax)
      throw new PlatformError('subrequest_limit_exceeded', { limit: this.#subrequestsMax });
  }

  /** All CPU that it has caused. */
  get totalCpuMs(): number {
    return this.cpuMs + this.hostCpuMs + this.reservedCpuMs;
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

  atEnd(run: () => void): void {
    if (this.phase === 'over') run();
    else (this.#atEnd ??= []).push(run);
  }

  /** It is over: nothing of it goes on. */
  close(): void {
    this.phase = 'over';
    if (this.#atEnd === null) return;
    for (const run of this.#atEnd) run();
    this.#atEnd = null;
  }
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
