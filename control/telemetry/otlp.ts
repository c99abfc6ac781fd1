// Serializes spans as OTLP JSON (OpenTelemetry protocol over HTTP): ids in hex, times as strings of nanoseconds, kinds
// and statuses as numbers. Pure.
import type { SpanAttributes } from '#core/telemetry.ts';

/** A span and its owner. */
export interface OwnedSpan {
  readonly project: string;
  readonly projectId: string;
  readonly deploymentId: string;
  readonly branch: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  readonly name: string;
  readonly kind: number;
  /** Milliseconds since 1970, with fractions. */
  readonly at: number;
  readonly ms: number;
  readonly error: string | null;
  readonly invocation: string;
  readonly attributes: SpanAttributes;
  readonly links: readonly string[];
}

const STATUS_ERROR = 2;

/** The body of a `POST /v1/traces`. There is one OTLP resource per deployment, and its service is the project. */
export function toOtlp(spans: readonly OwnedSpan[]): object {
  const byDeployment = new Map<string, OwnedSpan[]>();
  for (const span of spans) {
    const key = `${span.project} ${span.deploymentId}`;
    const known = byDeployment.get(key);
    if (known === undefined) byDeployment.set(key, [span]);
    else known.push(span);
  }
  return {
    resourceSpans: [...byDeployment.values()].map((list) => {
      const { project, deploymentId, branch } = list[0]!;
      return {
        resource: {
          attributes: toAttributes({
            'service.name': project,
            'service.version': deploymentId,
            'platform.deployment': deploymentId,
            'platform.branch': branch,
          }),
        },
        scopeSpans: [{ scope: { name: 'platform' }, spans: list.map(toSpan) }],
      };
    }),
  };
}

function toSpan(span: OwnedSpan): object {
  const { traceId, spanId, parentId, name, kind, at, ms, error, invocation, attributes, links } = span;
  return {
    traceId,
    spanId,
    ...(parentId === null ? {} : { parentSpanId: parentId }),
    // Sampled.
    flags: 1,
    name,
    kind,
    startTimeUnixNano: toNanos(at),
    endTimeUnixNano: toNanos(at + ms),
    attributes: toAttributes({ ...attributes, 'platform.invocation': invocation }),
    links: links.map((link) => ({ traceId: link.slice(3, 35), spanId: link.slice(36, 52) })),
    status: error === null ? {} : { code: STATUS_ERROR, message: error },
  };
}

/** The number is rounded to microseconds: further digits are not exact. */
function toNanos(ms: number): string {
  return `${BigInt(Math.round(ms * 1000))}000`;
}

function toAttributes(attributes: SpanAttributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: toValue(value) }));
}

function toValue(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
