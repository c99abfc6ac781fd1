// Encodes an event as an HTTP body: the lengths of its parts in bytes, comma-separated, a line feed, then the parts.
// Written by the broker, forwarded by the supervisor, read by the engine. The recipient is in headers. Pure.
import type { EventContent } from './event.ts';

export const EVENT_TYPE = 'application/vnd.platform.event';

/** The recipient: project and deployment; and the kind of the event. */
export const EVENT_HEADERS = {
  deployment: 'platform-deployment',
  project: 'platform-project',
  kind: 'platform-kind',
  /** Traces that led to the event, comma-separated; absent if there are none. */
  traces: 'platform-traces',
} as const;

export function encodeEvent({ head, bodies }: EventContent): Buffer {
  const parts = [head, ...bodies];
  return Buffer.from(`${parts.map((part) => Buffer.byteLength(part)).join(',')}\n${parts.join('')}`);
}

/** Null: malformed. */
export function decodeEvent(bytes: Buffer): EventContent | null {
  let at = bytes.indexOf(10) + 1;
  const lengths = bytes.toString('latin1', 0, Math.max(0, at - 1));
  if (!/^\d{1,10}(?:,\d{1,10})*$/.test(lengths)) return null;
  const parts = lengths.split(',').map((length) => bytes.toString('utf8', at, (at += Number(length))));
  if (at !== bytes.byteLength) return null;
  const [head, ...bodies] = parts;
  return { head: head as string, bodies };
}

/** Maximum number of traces per event, which fit into a header. */
const TRACES_MAX = 32;

/** The header with an event's traces; empty if there are none. */
export function traceHeaders({ traces = [] }: Pick<EventContent, 'traces'>): Readonly<Record<string, string>> {
  return traces.length === 0 ? {} : { [EVENT_HEADERS.traces]: traces.slice(0, TRACES_MAX).join(',') };
}

/** The valid traces in a header. */
export function tracesOf(header: unknown): string[] {
  if (typeof header !== 'string') return [];
  return header
    .split(',', TRACES_MAX)
    .filter((trace) => /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[0-3]$/.test(trace));
}
