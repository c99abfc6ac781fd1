// W3C trace context of an incoming request. Parsed only for a log line or an outgoing request, so that other requests
// cost nothing. All values come from clients, or from earlier messages, timers and runs. bindings/trace-headers.ts
// propagates the trace.

/** The trace that a request belongs to. */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** Id of the parent span, 16 hex digits. */
  readonly parentId: string;
  /** Flags in two hex digits, which say whether the trace is sampled. */
  readonly flags: string;
  /** The received `tracestate`, or empty. */
  readonly state: string;
}

const PARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/**
 * Maximum length of `tracestate`. W3C Trace Context requires that at least 512 characters are forwarded; longer values
 * are dropped.
 */
const STATE_CHARS_MAX = 512;

/** The trace in a request's header block; null if there is no valid one. */
export function traceFrom(headerBlock: string): TraceContext | null {
  if (!headerBlock.includes('traceparent\0')) return null;
  const fields = headerBlock.split('\0');
  let parent: string | null = null;
  const states: string[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    if (fields[at] === 'traceparent') {
      // If there are two headers, it is unknown which one is correct.
      if (parent !== null) return null;
      parent = fields[at + 1]!.trim();
    } else if (fields[at] === 'tracestate') {
      states.push(fields[at + 1]!.trim());
    }
  }
  const context = parseTraceparent(parent ?? '');
  if (context === null) return null;
  const state = states.filter((entry) => entry !== '').join(',');
  return {
    ...context,
    state: state.length <= STATE_CHARS_MAX && /^[\t\x20-\x7e]*$/.test(state) ? state : '',
  };
}

/** Parses a `traceparent`; null if it is invalid. */
export function parseTraceparent(text: string): TraceContext | null {
  const [, version, traceId, parentId, flags, more] = PARENT.exec(text) ?? [];
  if (traceId === undefined || (version === '00' && more !== undefined)) return null;
  return { traceId, parentId: parentId!, flags: flags!, state: '' };
}
