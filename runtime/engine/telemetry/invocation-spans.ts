// The spans of one sampled invocation: its own, and one a host call. Made by deployment.ts for those that are sampled
// and for nobody else; bridge/guest-calls.ts begins and ends the spans of calls, bindings say what theirs are about.
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { spanKinds, type SpanAttributes, type SpanKind, type SpanRecord } from '#core/telemetry.ts';
import type { TraceContext } from '../invocation/trace.ts';

/** Calls that go somewhere; the rest is work of the host for the worker's code. */
const TRACED = /^(?:ai|fetch|socket\.connect|cache|database|state|files|auth|queue|timer|workflow)\b/;
const PRODUCERS = /^(?:queue\.send|database\.send|timer\.set|workflow\.trigger)$/;
/** Of them, those that are steps of a run: they say when the step began. */
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

  /** Says something of what it is about; texts are cut. */
  set(name: string, value: string | number | boolean): void {
    this.attributes[name] =
      typeof value === 'string' ? value.slice(0, TEXT_CHARS_MAX).replaceAll('\0', '\ufffd').toWellFormed() : value;
  }
}

/** What the spans of an invocation are made with. */
interface InvocationSpansParts {
  readonly telemetry: { span(span: Omit<SpanRecord, 'record' | 'project' | 'deployment'>): void };
  readonly invocation: string;
  /** `performance.now()` when it came in. */
  readonly startedAt: number;
  /** What it continues; null: a trace begins with it. */
  readonly parent: TraceContext | null;
  /** Its parent is of this platform. */
  readonly isInside: boolean;
  readonly links: readonly string[];
  readonly spansMax: number;
}

export class InvocationSpans {
  /** What requests, messages and lines of the invocation continue: its own span is their parent. */
  readonly context: TraceContext;
  #parts: InvocationSpansParts;
  /** Of `performance.now()` to milliseconds since 1970. */
  #offset: number;
  #count = 0;

  constructor(parts: InvocationSpansParts) {
    this.#parts = parts;
    this.#offset = Date.now() - performance.now();
    this.context = {
      traceId: parts.parent?.traceId ?? newTraceId(),
      parentId: newSpanId(),
      flags: '01',
      state: parts.parent?.state ?? '',
    };
  }

  /** Begins the span of a host call; null for what has none, and beyond what an invocation may have. */
  begin(name: string, args: unknown): CallSpan | null {
    if (!TRACED.test(name) || ++this.#count >= this.#parts.spansMax) return null;
    const span = new CallSpan(name, PRODUCERS.test(name) ? spanKinds.producer : spanKinds.client);
    const { binding, name: step, startedAt } = (args ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof binding === 'string') span.set('platform.binding', binding);
    if (STEPS.test(name) && typeof step === 'string') {
      span.name = `step ${step}`.slice(0, TEXT_CHARS_MAX).toWellFormed();
      span.kind = spanKinds.internal;
      span.set('platform.workflow.step', step);
      // In its words: a step begins where the worker's clock says so, but not before its invocation.
      if (typeof startedAt === 'number') span.startedAt = Math.max(this.#parts.startedAt, startedAt - this.#offset);
    }
    return span;
  }

  /** Ends the span of a host call. @param error in one line; null: it went well. */
  finish(span: CallSpan, error: string | null): void {
    const { id: spanId, name, kind, attributes, startedAt } = span;
    const { parentId } = this.context;
    this.#hand({ spanId, parentId, isRoot: false, name, kind, error, attributes, startedAt, links: [] });
  }

  /** The invocation has ended. */
  end(name: string, kind: SpanKind, error: string | null, attributes: SpanAttributes): void {
    const { parent, isInside, startedAt, links } = this.#parts;
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
    const { telemetry, invocation } = this.#parts;
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
  return randomBytes(16).toString('hex');
}

export function newSpanId(): string {
  const bytes = randomBytes(8);
  // All zeros mean that there is none.
  bytes[0]! |= 1;
  return bytes.toString('hex');
}
