// Parses the records of engines, which share memory with hostile code: every field is validated, and fields that are
// not in core/telemetry.ts are dropped. Pure.
import { invocationKinds } from '#core/plans.ts';
import type {
  DroppedRecord,
  InvocationRecord,
  LineRecord,
  RequestDetails,
  SpanAttributes,
  SpanRecord,
  TelemetryRecord,
} from '#core/telemetry.ts';

/** Records of one batch by kind. */
export interface Records {
  readonly lines: LineRecord[];
  readonly invocations: InvocationRecord[];
  readonly spans: SpanRecord[];
  readonly dropped: DroppedRecord[];
  /** Number of invalid records. */
  readonly refused: number;
}

/** Timestamps outside of this range come from a wrong clock and are replaced by the current time. */
const [PAST_MS, FUTURE_MS] = [20 * 3_600_000, 60_000];
const TEXT_CHARS_MAX = 1024 * 1024;
const WORD_CHARS_MAX = 2048;
const ATTRIBUTES_MAX = 32;
const LINKS_MAX = 32;
const HEADERS_MAX = 32;
const SPAN_MS_MAX = 7 * 86_400_000;
/** A WebSocket may stay open for long. */
const INVOCATION_MS_MAX = 1e12;
/** Sums stay far below the range of bigint. */
const COUNT_MAX = 1e9;
const levels: readonly string[] = ['debug', 'info', 'warn', 'error'];
const kinds: readonly string[] = invocationKinds;

/** @param text one record per line. */
export function parseRecords(text: string, now: number): Records {
  const records = { lines: [], invocations: [], spans: [], dropped: [], refused: 0 } as {
    -readonly [Key in keyof Records]: Records[Key];
  };
  for (const line of text === '' ? [] : text.split('\n')) {
    const record = parseRecord(line, now);
    if (record === null) records.refused++;
    else if (record.record === 'line') records.lines.push(record);
    else if (record.record === 'invocation') records.invocations.push(record);
    else if (record.record === 'span') records.spans.push(record);
    else records.dropped.push(record);
  }
  return records;
}

function parseRecord(text: string, now: number): TelemetryRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const fields = value as Readonly<Record<string, unknown>>;
  const { project, deployment, at } = fields;
  if (!isWord(project) || !isWord(deployment) || !isNumber(at)) return null;
  const isNear = at > now - PAST_MS && at < now + FUTURE_MS;
  const own = { ...fields, at: isNear ? Math.round(at * 1000) / 1000 : now };
  if (fields['record'] === 'line') return isLine(fields) ? (own as unknown as LineRecord) : null;
  if (fields['record'] === 'invocation') {
    if (!isInvocation(fields)) return null;
    const {
      cpuMs,
      wallMs,
      firstByteMs = null,
    } = fields as unknown as Partial<InvocationRecord> & Pick<InvocationRecord, 'cpuMs' | 'wallMs'>;
    const rounded = {
      cpuMs: toMicros(cpuMs),
      wallMs: toMicros(wallMs),
      firstByteMs: firstByteMs === null ? null : toMicros(firstByteMs),
    };
    return { ...own, ...rounded, request: toRequest(fields['request']) } as unknown as InvocationRecord;
  }
  if (fields['record'] === 'span') {
    if (!isSpan(fields)) return null;
    return { ...own, attributes: toWellFormed(fields['attributes'] as SpanAttributes) } as unknown as SpanRecord;
  }
  if (fields['record'] === 'dropped')
    return ['lines', 'invocations', 'spans'].every((name) => isCount(fields[name]))
      ? (own as unknown as DroppedRecord)
      : null;
  return null;
}

type Fields = Readonly<Record<string, unknown>>;

function isLine({ level, text, kind, route, invocation, traceId }: Fields): boolean {
  return (
    levels.includes(level as string) &&
    isText(text, TEXT_CHARS_MAX) &&
    (kind === null || kinds.includes(kind as string)) &&
    isWord(route) &&
    (invocation === null || isWord(invocation)) &&
    (traceId === null || isTraceId(traceId))
  );
}

function isInvocation(fields: Fields): boolean {
  const { kind, traceId, status, cpuMs, wallMs, firstByteMs = null, request = null } = fields;
  return (
    kinds.includes(kind as string) &&
    ['invocation', 'method', 'path', 'route', 'outcome', 'error'].every((name) => isWord(fields[name])) &&
    (traceId === null || isTraceId(traceId)) &&
    isCount(status) &&
    status < 1000 &&
    isDuration(cpuMs, INVOCATION_MS_MAX) &&
    isDuration(wallMs, INVOCATION_MS_MAX) &&
    (firstByteMs === null || isDuration(firstByteMs, INVOCATION_MS_MAX)) &&
    (request === null || isRequest(request))
  );
}

function isRequest(value: unknown): value is RequestDetails {
  if (typeof value !== 'object' || value === null) return false;
  const { query, headers, client, requestBytes, responseBytes } = value as Fields;
  return (
    isWord(query) &&
    isWord(client) &&
    isLength(requestBytes) &&
    isLength(responseBytes) &&
    Array.isArray(headers) &&
    headers.length <= HEADERS_MAX &&
    headers.every(
      (pair) => Array.isArray(pair) && pair.length === 2 && isWord(pair[0]) && (pair[1] === null || isWord(pair[1])),
    )
  );
}

function isSpan({ traceId, spanId, parentId, isRoot, name, kind, ms, error, invocation, attributes, links }: Fields) {
  return (
    isTraceId(traceId) &&
    isSpanId(spanId) &&
    (parentId === null || isSpanId(parentId)) &&
    typeof isRoot === 'boolean' &&
    isWord(name) &&
    Number.isInteger(kind) &&
    (kind as number) >= 1 &&
    (kind as number) <= 5 &&
    isDuration(ms, SPAN_MS_MAX) &&
    (error === null || isWord(error)) &&
    isWord(invocation) &&
    isAttributes(attributes) &&
    Array.isArray(links) &&
    links.length <= LINKS_MAX &&
    links.every((link) => typeof link === 'string' && /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]$/.test(link))
  );
}

function isAttributes(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= ATTRIBUTES_MAX &&
    entries.every(
      ([name, attribute]) =>
        isWord(name) && (typeof attribute === 'boolean' || isNumber(attribute) || isWord(attribute)),
    )
  );
}

function isText(value: unknown, charsMax: number): value is string {
  return typeof value === 'string' && value.length <= charsMax && !value.includes('\0');
}

function isWord(value: unknown): value is string {
  return isText(value, WORD_CHARS_MAX);
}

function isTraceId(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{32}$/.test(value);
}

function isSpanId(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{16}$/.test(value);
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= COUNT_MAX;
}

function isLength(value: unknown): boolean {
  return value === null || (Number.isSafeInteger(value) && (value as number) >= 0);
}

function isDuration(value: unknown, most: number): boolean {
  return isNumber(value) && value >= 0 && value <= most;
}

/** Rounded to microseconds: `real` columns reject very large and very small numbers. */
function toMicros(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** Returns only the known fields of a request; null if it is invalid. */
function toRequest(value: unknown): RequestDetails | null {
  if (!isRequest(value)) return null;
  const { query, headers, client, requestBytes, responseBytes } = value;
  return {
    query: query.toWellFormed(),
    headers: headers.map(([name, header]) => [name.toWellFormed(), header?.toWellFormed() ?? null]),
    client: client.toWellFormed(),
    requestBytes,
    responseBytes,
  };
}

/** Postgres JSON cannot contain unpaired surrogates. */
function toWellFormed(attributes: SpanAttributes): SpanAttributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name.toWellFormed(),
      typeof value === 'string' ? value.toWellFormed() : value,
    ]),
  );
}
