// The host half of the Cache API: decides which responses may be stored and for how long (RFC 9111), finds the matching
// variant, and passes bodies in both directions. The store decides where responses are stored. A cache belongs to a
// project: its deployments share it, and no other project sees it.
import { PlatformError } from '#core/errors.ts';
import type { GuestStream, HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';
import type { ByteSource } from '../bridge/streams.ts';

/** A cached entry: a description and bytes. */
export interface CacheRecord {
  readonly head: string;
  readonly body: Uint8Array | null;
}

/**
 * Stores responses. The store may evict any entry at any time. The store never returns expired entries, or entries of
 * another project.
 */
export interface CacheStore {
  get(project: string, key: string): Promise<CacheRecord | null>;
  /** Replaces the entry of a key. The record's bytes belong to the store from then on. */
  set(project: string, key: string, record: CacheRecord, lifeMs: number): Promise<void>;
  /** Deletes an entry; returns whether there was one. */
  delete(project: string, key: string): Promise<boolean>;
}

/** Bodies up to this size are returned together with their response, not as a stream. */
const PART_BYTES_MAX = 64 * 1024;
/**
 * Memory for bodies that are being written to a cache, as a number of full-size entries. Beyond this limit, a response
 * is not stored.
 */
const ENTRIES_AT_ONCE = 4;
const NAME_CHARS_MAX = 1024;
const URL_CHARS_MAX = 16 * 1024;
/** How long the headers by which a URL's response varies are remembered. */
const VARIANTS_LIFE_MS = 24 * 60 * 60 * 1000;

/** Status and headers of a cached response. */
interface Head {
  readonly status: number;
  readonly statusText: string;
  readonly headers: string;
  /** When the response was stored, in ms since 1970, and its age at that time. */
  readonly storedAt: number;
  readonly ageSeconds: number;
}

/** Entry that is stored instead of a response that varies by request headers, because each variant has its own key. */
interface Variants {
  readonly vary: readonly string[];
  /** A part of the keys of the variants, so that variants of a deleted or replaced entry are never found again. */
  readonly generation: string;
}

/** The cache calls of a deployment. */
export function createCacheCalls(
  project: string,
  store: CacheStore,
  limits: { readonly entryBytesMax: number },
  now: () => number = Date.now,
): Readonly<Record<string, HostFunction>> {
  let buffered = 0;

  async function match(call: HostCall): Promise<HostReply> {
    const { key, headers } = parse(call);
    call.owner.countSubrequest();
    let record = await store.get(project, key);
    if (record === null) return { value: null };
    let head = JSON.parse(record.head) as Head | Variants;
    if ('vary' in head) {
      record = await store.get(project, variantKey(key, head, headers));
      if (record === null) return { value: null };
      head = JSON.parse(record.head) as Head;
    }
    const age = head.ageSeconds + Math.max(0, Math.floor((now() - head.storedAt) / 1000));
    const answered = { ...head, headers: `${head.headers}age\0${age}\0` };
    return isUnchanged(toFields(head.headers), headers)
      ? reply(call, { ...answered, status: 304, statusText: '' }, null)
      : reply(call, answered, record.body);
  }

  async function put(call: HostCall): Promise<HostReply> {
    const { key, headers } = parse(call);
    const { status, statusText, response, stream } = call.args as Record<string, unknown>;
    if (typeof status !== 'number' || typeof statusText !== 'string' || typeof response !== 'string')
      throw new PlatformError('invalid_argument', { reason: 'The response is not valid' });
    // The stream is opened before the first await, because its first chunk may come in the same records.
    const body = stream === null ? bytesOf(call.parts[0]) : await collect(call, stream);
    call.owner.countSubrequest();
    const time = now();
    const fields = toFields(response);
    const life = lifeOf(status, fields, time);
    if (life.ms <= 0 || body === undefined || (body?.byteLength ?? 0) > limits.entryBytesMax) return {};
    const { ageSeconds } = life;
    const kept = fields.filter(([name]) => name !== 'age' && !(name === 'set-cookie' && life.withoutCookies));
    const head: Head = {
      status,
      statusText,
      headers: kept.map(([name, value]) => `${name}\0${value}\0`).join(''),
      storedAt: time,
      ageSeconds,
    };
    const vary = varyOf(fields);
    const record = { head: JSON.stringify(head), body };
    if (vary.length === 0) {
      await store.set(project, key, record, life.ms);
      return {};
    }
    const before = await store.get(project, key);
    const known = before === null ? null : (JSON.parse(before.head) as Partial<Variants>);
    const variants: Variants =
      known?.generation !== undefined && String(known.vary) === String(vary)
        ? { vary, generation: known.generation }
        : { vary, generation: crypto.randomUUID() };
    await store.set(project, variantKey(key, variants, headers), record, life.ms);
    await store.set(project, key, { head: JSON.stringify(variants), body: null }, Math.max(life.ms, VARIANTS_LIFE_MS));
    return {};
  }

  /** Collects a streamed body; undefined when it is too large. */
  function collect(call: HostCall, id: unknown): Promise<Uint8Array | undefined> {
    if (!Number.isSafeInteger(id)) throw new PlatformError('invalid_argument', { reason: 'The body is not valid' });
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    let over = false;
    return new Promise((resolve, reject) => {
      const hold = call.isolate.memory.hold(0, 'A body for the cache');
      const finish = (settle: () => void): void => {
        if (over) return;
        over = true;
        buffered -= bytes;
        hold.release();
        settle();
      };
      const stream = call.isolate.receiveStream(id as number, {
        write(chunk) {
          if (over) return true;
          const part = bytesOf(chunk)!;
          bytes += part.byteLength;
          buffered += part.byteLength;
          chunks.push(part);
          if (bytes > limits.entryBytesMax || buffered > limits.entryBytesMax * ENTRIES_AT_ONCE)
            finish(() => resolve(undefined));
          try {
            hold.grow(2 * bytes);
          } catch (error) {
            finish(() => reject(error as Error));
          }
          return true;
        },
        end: () => finish(() => resolve(new Uint8Array(Buffer.concat(chunks)))),
        destroy: (reason) => finish(() => reject(new TypeError(`The body of the response failed: ${reason}`))),
      });
      stream.drained();
      call.signal.addEventListener('abort', () => finish(() => resolve(undefined)));
    });
  }

  return {
    'cache.match': match,
    'cache.put': put,
    async 'cache.delete'(call) {
      call.owner.countSubrequest();
      return { value: await store.delete(project, parse(call).key) };
    },
  };
}

function parse({ args }: HostCall): { key: string; headers: readonly (readonly [string, string])[] } {
  const { cache, url, headers } = (args ?? {}) as Record<string, unknown>;
  if ((cache !== null && typeof cache !== 'string') || (cache?.length ?? 0) > NAME_CHARS_MAX)
    throw new PlatformError('invalid_argument', {
      reason: `The name of a cache must be a text of at most ${NAME_CHARS_MAX} characters`,
    });
  const target = typeof url === 'string' ? URL.parse(url) : null;
  if (target === null || !/^https?:$/.test(target.protocol) || target.href.length > URL_CHARS_MAX)
    throw new PlatformError('invalid_argument', {
      reason: `The URL must be an http(s) URL of at most ${URL_CHARS_MAX} characters`,
    });
  target.hash = '';
  return { key: JSON.stringify([cache, target.href]), headers: typeof headers === 'string' ? toFields(headers) : [] };
}

function toFields(block: string): [string, string][] {
  const parts = block.split('\0');
  const fields: [string, string][] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) fields.push([parts[at] as string, parts[at + 1] as string]);
  return fields;
}

function bytesOf(part: string | Uint8Array | undefined): Uint8Array | null {
  if (part === undefined) return null;
  return typeof part === 'string' ? new Uint8Array(Buffer.from(part)) : part;
}

function valueOf(fields: readonly (readonly [string, string])[], name: string): string | null {
  const values = fields.filter(([field]) => field === name).map(([, value]) => value);
  return values.length === 0 ? null : values.join(', ');
}

function varyOf(fields: readonly (readonly [string, string])[]): string[] {
  const names = (valueOf(fields, 'vary') ?? '').toLowerCase().split(',');
  return [...new Set(names.map((name) => name.trim()).filter((name) => name !== ''))].toSorted();
}

/** Whether the client's copy is current (RFC 9110 13.1.2 and 13.1.3). */
function isUnchanged(
  kept: readonly (readonly [string, string])[],
  asked: readonly (readonly [string, string])[],
): boolean {
  const wanted = valueOf(asked, 'if-none-match');
  if (wanted !== null) {
    const etag = valueOf(kept, 'etag')?.replace(/^W\//, '');
    return (
      wanted.trim() === '*' || (etag !== undefined && [...wanted.matchAll(/"[^"]*"/g)].some(([tag]) => tag === etag))
    );
  }
  const since = Date.parse(valueOf(asked, 'if-modified-since') ?? '');
  return Date.parse(valueOf(kept, 'last-modified') ?? '') <= since;
}

function variantKey(
  key: string,
  { vary, generation }: Variants,
  headers: readonly (readonly [string, string])[],
): string {
  return JSON.stringify([key, generation, ...vary.map((name) => valueOf(headers, name))]);
}

/** Default lifetimes by status, in seconds; other statuses are not stored without an explicit lifetime. */
const ordinaryLife: Readonly<Record<number, number>> = {
  200: 7200,
  301: 7200,
  302: 1200,
  303: 1200,
  404: 180,
  410: 180,
};

/**
 * How long a response may be served from a shared cache (RFC 9111 3 and 4.2). A response with cookies is private,
 * unless it marks only its cookies as private (`private="set-cookie"`).
 */
function lifeOf(
  status: number,
  fields: readonly (readonly [string, string])[],
  now: number,
): { ms: number; ageSeconds: number; withoutCookies: boolean } {
  const directives = new Map<string, string | null>();
  for (const [, name, quoted, plain] of (valueOf(fields, 'cache-control') ?? '').matchAll(
    /([\w-]+)(?:\s*=\s*(?:"([^"]*)"|([^\s,]*)))?/g,
  )) {
    if (!directives.has(name!.toLowerCase())) directives.set(name!.toLowerCase(), quoted ?? plain ?? null);
  }
  const seconds = (name: string): number | null => {
    const value = directives.get(name);
    return value == null ? null : /^\d+$/.test(value) ? Number(value) : 0;
  };
  const isCookieOnly = (name: string): boolean => directives.get(name)?.toLowerCase().trim() === 'set-cookie';
  const withoutCookies = isCookieOnly('private') || isCookieOnly('no-cache');
  const refused = ['no-store', 'no-cache', 'private'].some((name) => directives.has(name) && !isCookieOnly(name));
  const hasCookies = fields.some(([name]) => name === 'set-cookie') && !withoutCookies;
  const ageSeconds = Math.max(0, Number.parseInt(valueOf(fields, 'age') ?? '0', 10) || 0);
  if (refused || hasCookies || status === 206 || varyOf(fields).includes('*'))
    return { ms: 0, ageSeconds, withoutCookies };
  const expires = valueOf(fields, 'expires');
  const date = Date.parse(valueOf(fields, 'date') ?? '') || now;
  const life =
    seconds('s-maxage') ??
    seconds('max-age') ??
    (expires === null ? (ordinaryLife[status] ?? 0) : (Date.parse(expires) - date) / 1000 || 0);
  return { ms: (Math.min(life, 31_536_000) - ageSeconds) * 1000, ageSeconds, withoutCookies };
}

/** If the stream cannot be opened, its source is closed. */
function openStream({ isolate }: HostCall, source: ByteSource): GuestStream {
  try {
    return isolate.openStream(source);
  } catch (error) {
    source.cancel();
    throw error;
  }
}

function reply(call: HostCall, head: Head, body: Uint8Array | null): HostReply {
  const value = { status: head.status, statusText: head.statusText, headers: head.headers };
  if (body === null) return { value: { ...value, stream: null, part: false } };
  if (body.byteLength <= PART_BYTES_MAX) return { value: { ...value, stream: null, part: true }, parts: [body] };
  let at = 0;
  let cancelled = false;
  const hold = call.isolate.memory.hold(body.byteLength, 'A body of the cache');
  const send = (): void => {
    while (!cancelled && at < body.byteLength) {
      const chunk = body.subarray(at, (at += PART_BYTES_MAX));
      if (!stream.write(chunk)) return;
    }
    if (!cancelled) stream.end();
    cancelled = true;
    hold.release();
  };
  const cancel = (): void => {
    cancelled = true;
    hold.release();
  };
  const stream = openStream(call, { resume: send, cancel });
  // The reply names the stream, so it must be sent before the first chunk.
  setImmediate(send);
  return { value: { ...value, stream: stream.id, part: false } };
}
