// Hands the trace of a request on to what its worker requests: W3C `traceparent` with a new parent id. Used by fetch.ts
// and web-socket.ts.
import { randomBytes } from 'node:crypto';
import type { TraceContext } from '../invocation/trace.ts';

/** The headers, names and values in turn, and those of the trace they continue, unless the worker set its own. */
export function withTrace(headers: string[], trace: TraceContext | null): string[] {
  if (trace === null || headers.some((name, at) => at % 2 === 0 && name === 'traceparent')) return headers;
  const { traceId, flags, state } = trace;
  // Flags that a later version may define are not ours to hand on: only `sampled` and `random` are known.
  const known = (Number.parseInt(flags, 16) & 3).toString(16).padStart(2, '0');
  const continued = [...headers, 'traceparent', `00-${traceId}-${parentId()}-${known}`];
  const hasState = state !== '' && !headers.some((name, at) => at % 2 === 0 && name === 'tracestate');
  return hasState ? [...continued, 'tracestate', state] : continued;
}

function parentId(): string {
  const bytes = randomBytes(8);
  // All zeros mean that there is none.
  bytes[0]! |= 1;
  return bytes.toString('hex');
}
