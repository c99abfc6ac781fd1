// What engines tell of the work of workers: lines, invocations, spans of traces, and how many of them they dropped.
// Engines write one JSON object a line, the supervisor holds the texts unread, the control plane keeps them. Types.
import type { InvocationKind } from './plans.ts';

/** What every record says. */
interface OfDeployment {
  readonly project: string;
  readonly deployment: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A line of a worker, or of the platform about it. */
export interface LineRecord extends OfDeployment {
  readonly record: 'line';
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly text: string;
  /** Of the invocation it belongs to; null for code outside of every one. */
  readonly kind: InvocationKind | null;
  /** Of a request: its route (`routeOf`); else the name of the queue, timer, schedule or workflow. */
  readonly route: string;
  readonly invocation: string | null;
  readonly traceId: string | null;
}

/** An invocation that has ended. */
export interface InvocationRecord extends OfDeployment {
  readonly record: 'invocation';
  readonly kind: InvocationKind;
  readonly invocation: string;
  readonly traceId: string | null;
  /** Of a request; empty for other events. The path is without its query, which may hold secrets. */
  readonly method: string;
  readonly path: string;
  readonly route: string;
  /** 0 for events that are no requests. */
  readonly status: number;
  /** `ok`, or the code it failed with. */
  readonly outcome: string;
  /** Why it failed, in one line; empty. */
  readonly error: string;
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** Kinds of spans, by the numbers of OpenTelemetry. */
export const spanKinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const;
export type SpanKind = (typeof spanKinds)[keyof typeof spanKinds];

/** What a span says beside its time. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** One span of a trace that has ended. */
export interface SpanRecord extends OfDeployment {
  readonly record: 'span';
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  /** The first of its trace on this platform: its parent, if any, is somebody else's. */
  readonly isRoot: boolean;
  readonly name: string;
  readonly kind: SpanKind;
  readonly ms: number;
  /** Null: it did not fail. */
  readonly error: string | null;
  readonly invocation: string;
  readonly attributes: SpanAttributes;
  /** Spans of other traces that led to it, as `traceparent`. */
  readonly links: readonly string[];
}

/** What an engine dropped, since a project wrote more than it may. */
export interface DroppedRecord extends OfDeployment {
  readonly record: 'dropped';
  readonly lines: number;
  readonly invocations: number;
  readonly spans: number;
}

export type TelemetryRecord = LineRecord | InvocationRecord | SpanRecord | DroppedRecord;

/** `POST /_platform/telemetry`: a batch, the same until it is acknowledged. */
export interface TelemetryBatch {
  /** Null: there was nothing within the time that was waited. */
  readonly id: string | null;
  /** JSON, one record a line. */
  readonly records: string;
  /** Records that were given up, since nobody took them in time. */
  readonly lost: number;
}
