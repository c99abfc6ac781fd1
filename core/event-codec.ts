// An event in one HTTP body: the lengths of its parts in bytes, comma-separated, a line feed, then the parts one after
// the other. Written by the broker, read by the engine; the supervisor between them passes it on. Who gets it stands in
// headers. Pure.
import type { EventContent } from './event.ts';

export const EVENT_TYPE = 'application/vnd.platform.event';

/** Which deployment of which project gets it, and its kind. */
export const EVENT_HEADERS = {
  deployment: 'platform-deployment',
  project: 'platform-project',
  kind: 'platform-kind',
} as const;

export function encodeEvent({ head, bodies }: EventContent): Buffer {
  const parts = [head, ...bodies];
  return Buffer.from(`${parts.map((part) => Buffer.byteLength(part)).join(',')}\n${parts.join('')}`);
}

/** Null: it is none. */
export function decodeEvent(bytes: Buffer): EventContent | null {
  let at = bytes.indexOf(10) + 1;
  const lengths = bytes.toString('latin1', 0, Math.max(0, at - 1));
  if (!/^\d{1,10}(?:,\d{1,10})*$/.test(lengths)) return null;
  const parts = lengths.split(',').map((length) => bytes.toString('utf8', at, (at += Number(length))));
  if (at !== bytes.byteLength) return null;
  const [head, ...bodies] = parts;
  return { head: head as string, bodies };
}
