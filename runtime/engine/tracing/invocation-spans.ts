// The spans of one sampled invocation: its own span, and one per host call. Created by deployment.ts only for sampled
// invocations. bridge/guest-calls.ts begins and ends the spans of calls, and bindings set their attributes.
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { spanKinds, type SpanAttributes, type SpanKind, type SpanRecord } from '#core/telemetry.ts';
import type { TraceContext } from './trace.ts';

/** Calls with an external effect; other calls are host work for the worker's code. */
const TRACED =
  /^(?:ai|fetch|socket\.connect|tcp\.connect|hyperdrive|cache|database|state|files|auth|queue|timer|workflow|service|exports|object|sandbox)\b/;
const PRODUCERS = /^(?:queue\.send|database\.send|timer\.set|workflow\.trigger)$/;
/** Calls that report a step of a run, and contain the start time of the step. */
const STEPS = /^workflow\.(?:stepDone|stepFailed|sleep|waitForEvent)$/;
const TEXT_CHARS_MAX = 500;

/** A host call of a sampled invocation. */
export class CallSpan {
  readonly id: string = newSpanId();
  name: string;
  kind: SpanKind;
  readonly attributes: Record<string, string | number | boolean> = {};
  /** `performance.now()`. */
  startedAt: number;

  constructor(name: string, kind: SpanKind) {
    this.name = name;
    this.kind = kind;
    this.startedAt = performance.now();
  }

  /** Marks the call as a call of a worker or an object. @param target the binding, or the export. */
  calls(target: unknown, method: string): void {
    this.name = `${String(target)}.${method}`.slice(0, TEXT_CHARS_MAX).toWellFormed();
  }

  /** Sets an attribute; long texts are truncated. */
  set(name: string, value: string | number | boolean): void {
    this.attributes[name] =
      typeof value === 'string' ? value.slice(0, TEXT_CHARS_MAX).replaceAll('\0', '\ufffd').toWellFormed() : value;
  }
}

/** Dependencies of the spans of an invocation. */
interface InvocationSpansDeps {
  readonly telemetry: { span(span: Omit<SpanRecord, 'record' | 'project' | 'deployment'>): void };
  readonly invocation: string;
  /** `performance.now()` at its arrival. */
  readonly startedAt: number;
  /** The trace that the invocation continues; null if it starts a new trace. */
  readonly parent: TraceContext | null;
  /** Whether the parent span belongs to this platform. */
  readonly isInside: boolean;
  readonly links: readonly string[];
  readonly spansMax: number;
}

export class InvocationSpans {
  /** The trace context for requests, messages and log lines of the invocation, whose own span is their parent. */
  readonly context: TraceContext;
  #deps: InvocationSpansDeps;
  /** Difference between `performance.now()` and milliseconds since 1970. */
  #offset: number;
  #count = 0;

  constructor(deps: InvocationSpansDeps) {
    this.#deps = deps;
    this.#offset = Date.now() - performance.now();
    this.context = {
      traceId: deps.parent?.traceId ?? newTraceId(),
      parentId: newSpanId(),
      flags: '01',
      state: deps.parent?.state ?? '',
    };
  }

  /** Begins the span of a host call; null for calls without a span, and above the limit of an invocation. */
  begin(name: string, args: unknown): CallSpan | null {
    if (!TRACED.test(name) || ++this.#count >= this.#deps.spansMax) return null;
    const span = new CallSpan(name, PRODUCERS.test(name) ? spanKinds.producer : spanKinds.client);
    const { binding, name: step, startedAt } = (args ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof binding === 'string') span.set('platform.binding', binding);
    if (STEPS.test(name) && typeof step === 'string') {
      span.name = `step ${step}`.slice(0, TEXT_CHARS_MAX).toWellFormed();
      span.kind = spanKinds.internal;
      span.set('platform.workflow.step', step);
      // A step begins at the time that the worker's clock reported, but not before its invocation.
      if (typeof startedAt === 'number') span.startedAt = Math.max(this.#deps.startedAt, startedAt - this.#offset);
    }
    return span;
  }

  /** Ends the span of a host call. @param error the error in one line; null means success. */
  finish(span: CallSpan, error: string | null): void {
    const { id: spanId, name, kind, attributes, startedAt } = span;
    const { parentId } = this.context;
    this.#hand({ spanId, parentId, isRoot: false, name, kind, error, attributes, startedAt, links: [] });
  }

  /** Called when the invocation has ended. */
  end(name: string, kind: SpanKind, error: string | null, attributes: SpanAttributes): void {
    const { parent, isInside, startedAt, links } = this.#deps;
    this.#hand({
      spanId: this.context.parentId,
      parentId: parent?.parentId ?? null,
      isRoot: !isInside,
      name,
      kind,
      error,
      attributes,
      startedAt,
      links,
    });
  }

  #hand(span: {
    readonly spanId: string;
    readonly parentId: string | null;
    readonly isRoot: boolean;
    readonly name: string;
    readonly kind: SpanKind;
    readonly error: string | null;
    readonly attributes: SpanAttributes;
    readonly startedAt: number;
    readonly links: readonly string[];
  }): void {
    const { telemetry, invocation } = this.#deps;
    const { startedAt, error, ...rest } = span;
    const ms = Math.max(0, performance.now() - startedAt);
    const line = error === null ? null : error.split('\n', 1)[0]!.slice(0, TEXT_CHARS_MAX).replaceAll('\0', '\ufffd');
    telemetry.span({
      ...rest,
      error: line,
      at: startedAt + this.#offset,
      ms,
      invocation,
      traceId: this.context.traceId,
    });
  }
}

export function newTraceId(): string {
  return randomUUID().replaceAll('-', '');
}

/** Creates an id from the random digits of a UUID. */
export function newSpanId(): string {
  const id = randomUUID();
  return id.slice(0, 8) + id.slice(28);
}
