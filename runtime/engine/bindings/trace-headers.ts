// Propagates the trace of a request to the outgoing calls of its worker: W3C `traceparent` with a new parent id. Used
// by the bindings that send requests or messages.
import { randomUUID } from 'node:crypto';
import type { HostCall } from '../bridge/host-calls.ts';
import type { TraceContext } from '../tracing/trace.ts';

/**
 * Returns the headers (names and values alternating) with the trace headers added, unless the worker set its own.
 *
 * @param parent span of the request; by default a new span.
 */
export function withTrace(
  headers: string[],
  trace: TraceContext | null,
  parent: string | undefined = undefined,
): string[] {
  if (trace === null || headers.some((name, at) => at % 2 === 0 && name === 'traceparent')) return headers;
  const { traceId, flags, state } = trace;
  // Only the known flags, `sampled` and `random`, are forwarded, as the standard requires.
  const known = (Number.parseInt(flags, 16) & 3).toString(16).padStart(2, '0');
  const continued = [...headers, 'traceparent', `00-${traceId}-${parent ?? parentId()}-${known}`];
  const hasState = state !== '' && !headers.some((name, at) => at % 2 === 0 && name === 'tracestate');
  return hasState ? [...continued, 'tracestate', state] : continued;
}

/** The trace of a message, a timer or a run, as `traceparent`, or null. The trace is sampled if the call is sampled. */
export function carriedTrace({ owner, span }: Pick<HostCall, 'owner' | 'span'>): string | null {
  const { trace, spans = null } = owner;
  if (trace === null) return null;
  return `00-${trace.traceId}-${span?.id ?? trace.parentId}-${spans === null ? '00' : '01'}`;
}

/** Uses the random digits of a UUID, which is cheap because Node generates many UUIDs at once. */
function parentId(): string {
  const id = randomUUID();
  return id.slice(0, 8) + id.slice(28);
}
