// Telemetry records of engines: lines, invocations, spans of traces, and how many of them were dropped. Engines write
// one JSON object per line, the supervisor buffers the texts unparsed, and the control plane stores them. Types.
import type { InvocationKind } from './plans.ts';

/** Fields of every record. */
interface OfDeployment {
  readonly project: string;
  readonly deployment: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A log line of a worker, or of the platform about it. */
export interface LineRecord extends OfDeployment {
  readonly record: 'line';
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly text: string;
  /** Kind of the line's invocation; null for code outside of invocations. */
  readonly kind: InvocationKind | null;
  /** The route of a request (`routeOf`), or the name of the queue, timer, schedule or workflow. */
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
  /** Set for a request; empty for other events. The path has no query: `request` has it. */
  readonly method: string;
  readonly path: string;
  readonly route: string;
  /** 0 for events other than requests. */
  readonly status: number;
  /** `ok`, or the error code. A response with a status of 5xx is a failure too, even if the outcome is `ok`. */
  readonly outcome: string;
  /** Reason of a failure in one line; otherwise empty. */
  readonly error: string;
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Time to first byte of a response; null for an event, or if the client disconnected before. */
  readonly firstByteMs: number | null;
  /** Null: an event. */
  readonly request: RequestDetails | null;
}

/** Details of a request, without values that may be secrets. */
export interface RequestDetails {
  /** The query without `?`; secret values are `***`. Empty: none. */
  readonly query: string;
  /** Names and values of headers, in order of arrival; null instead of a secret value. */
  readonly headers: readonly (readonly [name: string, value: string | null])[];
  /** Address of the client, as the worker sees it; empty if unknown. */
  readonly client: string;
  /** Declared length of the body; null if unknown. */
  readonly requestBytes: number | null;
  /** Length of the response's body; null means a WebSocket. */
  readonly responseBytes: number | null;
}

/** Kinds of spans, with OpenTelemetry's numbers. */
export const spanKinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const;
export type SpanKind = (typeof spanKinds)[keyof typeof spanKinds];

/** Attributes of a span. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** One finished span of a trace. */
export interface SpanRecord extends OfDeployment {
  readonly record: 'span';
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  /** Whether this is the first span of its trace on this platform: its parent, if there is one, is external. */
  readonly isRoot: boolean;
  readonly name: string;
  readonly kind: SpanKind;
  readonly ms: number;
  /** Reason of the failure; null if the span did not fail. */
  readonly error: string | null;
  readonly invocation: string;
  readonly attributes: SpanAttributes;
  /** Spans of other traces that led to this span, as `traceparent`. */
  readonly links: readonly string[];
}

/** Records that an engine dropped, because a project exceeded its limit. */
export interface DroppedRecord extends OfDeployment {
  readonly record: 'dropped';
  readonly lines: number;
  readonly invocations: number;
  readonly spans: number;
}

export type TelemetryRecord = LineRecord | InvocationRecord | SpanRecord | DroppedRecord;

/** `POST /_platform/telemetry`: a batch, repeated until it is acknowledged. */
export interface TelemetryBatch {
  /** Null if nothing arrived within the waiting time. */
  readonly id: string | null;
  /** JSON, one record per line. */
  readonly records: string;
  /** Records dropped because they were not fetched in time. */
  readonly lost: number;
}
