// The host half of `fetch`: undici with the egress policy on every connection and every redirect, streaming both ways.
// Everything in `args` comes from a worker and is checked here.
import { isIP, type LookupFunction } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Agent, Dispatcher } from 'undici';
import { mayConnect, type EgressPolicy } from '#core/egress.ts';
import { PlatformError } from '#core/errors.ts';
import type { GuestStream, HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';
import type { Hold } from '../bridge/host-memory.ts';
import { codecBytes, type CodecBytes } from './codec-memory.ts';
import { EgressMeter } from './egress-meter.ts';
import { loadFetchLibrary } from './fetch-agent.ts';
import { OpenFetches } from './open-fetches.ts';
import { receiveBody } from './streamed-body.ts';
import { withTrace } from './trace-headers.ts';

export const REDIRECTS_MAX = 20;
/** Bodies that are complete by then and not larger cross as one part. */
const PART_BYTES_MAX = 64 * 1024;

interface FetchArguments {
  method: string;
  url: string;
  headers: string;
  redirect: 'follow' | 'manual' | 'error';
  stream: number | null;
}

/** The handlers of `fetch` under a policy. `close` ends its connections. */
export function createFetch(
  policy: EgressPolicy,
  lookup: LookupFunction,
  meter: EgressMeter = new EgressMeter(),
  openMax = 1000,
): { calls: Readonly<Record<string, HostFunction>>; close(): Promise<void> } {
  /** Each isolate's own: on a connection that it shares with nobody, what it sent cannot answer another's request. */
  const agents = new Map<object, Agent>();
  let library: Promise<() => Agent> | null = null;
  const places = new OpenFetches(openMax);
  const load = (): Promise<() => Agent> =>
    (library ??= loadFetchLibrary().then((undici) => {
      const open = undici.buildConnector({ lookup, allowH2: false });
      const connector: typeof open = (options, callback) =>
        open(options, (...result) => {
          // A connection that failed has an error and nothing else.
          if (result[1]) meter.add(result[1]);
          callback(...result);
        });
      return () => new undici.Agent({ connect: connector, allowH2: false, bodyTimeout: 0, headersTimeout: 0 });
    }));
  const agentOf = async (isolate: object): Promise<Agent> => {
    const create = await load();
    let agent = agents.get(isolate);
    if (agent === undefined) {
      const made = (agent = create());
      const forgetIdle = (): void => {
        if (Object.keys(made.stats).length === 0 && agents.get(isolate) === made) agents.delete(isolate);
      };
      agents.set(isolate, made.on('disconnect', forgetIdle).on('connectionError', forgetIdle));
    }
    return agent;
  };
  return {
    calls: {
      fetch(call) {
        const target = parse(call.args);
        // Before anything is awaited: the stream's first chunk may come in the same answer of the isolate.
        const body = target.stream === null ? (call.parts[0] ?? null) : receiveBody(call, target.stream);
        const answer = run(agentOf(call.isolate), policy, places, call, target, body);
        // Where it failed before anybody read it.
        if (body instanceof PassThrough) answer.catch(() => body.destroy());
        return answer;
      },
    },
    async close() {
      await Promise.all(Array.from(agents.values(), (agent) => agent.destroy()));
    },
  };
}

async function run(
  connecting: Promise<Agent>,
  policy: EgressPolicy,
  places: OpenFetches,
  call: HostCall,
  { method, url, headers, redirect }: FetchArguments,
  body: Uint8Array | string | Readable | null,
): Promise<HostReply> {
  let target = new URL(url);
  let verb = method;
  const { span } = call;
  span?.set('http.request.method', method.toUpperCase());
  // Without its path and query, which may hold secrets.
  span?.set('server.address', target.host);
  let list = withTrace(toList(headers), call.owner.trace, span?.id);
  const agent = await connecting;
  for (let redirects = 0; ; redirects++) {
    call.owner.countSubrequest();
    check(target, policy);
    const leave = places.take(call.isolate);
    const response = await request(agent, target, verb, list, body, call.signal).catch((error: unknown) => {
      leave();
      throw error;
    });
    response.body.once('close', leave);
    span?.set('http.response.status_code', response.statusCode);
    const location = redirect === 'manual' ? null : redirectTarget(response, target);
    if (location === null) return reply(call, response, target, redirects > 0);
    response.body.destroy();
    if (redirect === 'error')
      throw new PlatformError('fetch_failed', { reason: `Redirect to ${location.href} while redirect is "error"` });
    if (redirects >= REDIRECTS_MAX)
      throw new PlatformError('fetch_failed', { reason: `More than ${REDIRECTS_MAX} redirects` });
    if (changesToGet(response.statusCode, verb)) {
      verb = 'GET';
      body = null;
      list = without(list, /^content-(?:encoding|language|location|type|length)$/);
    } else if (body !== null && typeof body === 'object' && !(body instanceof Uint8Array)) {
      throw new PlatformError('fetch_failed', { reason: 'A redirect asks for the body again, but it was a stream' });
    }
    if (location.origin !== target.origin) list = without(list, /^(?:authorization|cookie|host|proxy-authorization)$/);
    target = location;
  }
}

function parse(args: unknown): FetchArguments {
  const { method, url, headers, redirect, stream } = (args ?? {}) as Record<string, unknown>;
  if (typeof method !== 'string' || !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/.test(method))
    throw new PlatformError('invalid_argument', { reason: 'The method is not valid' });
  if (/^(?:connect|trace|track)$/i.test(method))
    throw new PlatformError('invalid_argument', { reason: `'${method}' HTTP method is unsupported.` });
  if (typeof url !== 'string' || !URL.canParse(url))
    throw new PlatformError('invalid_argument', { reason: 'The URL is not valid' });
  if (typeof headers !== 'string') throw new PlatformError('invalid_argument', { reason: 'The headers are not valid' });
  if (redirect !== 'follow' && redirect !== 'manual' && redirect !== 'error')
    throw new PlatformError('invalid_argument', { reason: 'The redirect mode is not valid' });
  if (stream !== null && !Number.isSafeInteger(stream))
    throw new PlatformError('invalid_argument', { reason: 'The body is not valid' });
  return { method, url, headers, redirect, stream: stream as number | null };
}

// Headers that frame the message or belong to the connection are the host's own.
export const FORBIDDEN =
  /^(?:connection|keep-alive|proxy-connection|transfer-encoding|te|trailer|upgrade|content-length|expect)$/;

function toList(block: string): string[] {
  const list: string[] = [];
  const fields = block.split('\0');
  let hasEncoding = false;
  let hasAgent = false;
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at] as string;
    if (FORBIDDEN.test(name)) continue;
    if (name === 'accept-encoding') hasEncoding = true;
    if (name === 'user-agent') hasAgent = true;
    list.push(name, fields[at + 1] as string);
  }
  if (!hasEncoding) list.push('accept-encoding', 'gzip, deflate, br');
  if (!hasAgent) list.push('user-agent', 'platform');
  return list;
}

function without(list: readonly string[], names: RegExp): string[] {
  const kept: string[] = [];
  for (let at = 0; at < list.length; at += 2)
    if (!names.test(list[at] as string)) kept.push(list[at] as string, list[at + 1] as string);
  return kept;
}

/** @throws {PlatformError} for another protocol, or a literal address that the policy forbids. */
export function check(target: URL, policy: EgressPolicy): void {
  if (target.protocol !== 'http:' && target.protocol !== 'https:')
    throw new PlatformError('fetch_failed', { reason: `Protocol "${target.protocol}" is not supported by fetch` });
  const host = target.hostname.startsWith('[') ? target.hostname.slice(1, -1) : target.hostname;
  if (isIP(host) !== 0 && !mayConnect(host, policy))
    throw new PlatformError('egress_forbidden', { address: target.hostname });
}

async function request(
  agent: Agent,
  target: URL,
  method: string,
  headers: string[],
  body: Uint8Array | string | Readable | null,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  try {
    const response = await agent.request({
      origin: target.origin,
      path: target.pathname + target.search,
      method: method as Dispatcher.HttpMethod,
      headers,
      body,
      signal,
      responseHeaders: 'raw',
    });
    // A body that is given up says so as an error, which nobody may be listening for by then.
    response.body.on('error', () => {});
    return response;
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    const { code, message, cause } = error as { code?: string; message: string; cause?: unknown };
    if (cause instanceof PlatformError) throw cause;
    throw new PlatformError(
      'fetch_failed',
      { reason: `fetch failed: ${code === undefined ? message : `${code} ${target.host}`}` },
      { cause: error },
    );
  }
}

function raw(response: Dispatcher.ResponseData): string[] {
  return (response.headers as unknown as (string | Buffer)[]).map((field) =>
    typeof field === 'string' ? field : field.toString('latin1'),
  );
}

/** Where a response redirects to; null when it does not. */
export function redirectTarget(response: Dispatcher.ResponseData, from: URL): URL | null {
  if (![301, 302, 303, 307, 308].includes(response.statusCode)) return null;
  const headers = raw(response);
  for (let at = 0; at < headers.length; at += 2) {
    if ((headers[at] as string).toLowerCase() !== 'location') continue;
    const location = URL.parse(headers[at + 1] as string, from.href);
    if (location === null)
      throw new PlatformError('fetch_failed', { reason: 'The location of a redirect is not a valid URL' });
    if (location.hash === '') location.hash = from.hash;
    return location;
  }
  return null;
}

function changesToGet(status: number, method: string): boolean {
  return (
    ((status === 301 || status === 302) && method === 'POST') ||
    (status === 303 && method !== 'GET' && method !== 'HEAD')
  );
}

/** What a millisecond decodes. */
const DECODED_BYTES_PER_MS = 500_000;

const decoderBytes: Readonly<Record<string, CodecBytes>> = {
  gzip: codecBytes('gunzip'),
  'x-gzip': codecBytes('gunzip'),
  deflate: codecBytes('inflate'),
  br: codecBytes('brotliDecompress'),
};

const decoders: Record<string, () => NodeJS.ReadWriteStream & Readable> = {
  gzip: () => createGunzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }),
  'x-gzip': () => createGunzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }),
  deflate: () => createInflate({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }),
  br: () =>
    createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH }),
};

// The body crosses decoded, so the headers that describe its encoded form do not.
export async function reply(
  call: HostCall,
  response: Dispatcher.ResponseData,
  target: URL,
  redirected: boolean,
): Promise<HostReply> {
  const fields = raw(response);
  let encoding = '';
  for (let at = 0; at < fields.length; at += 2)
    if ((fields[at] as string).toLowerCase() === 'content-encoding')
      encoding = (fields[at + 1] as string).trim().toLowerCase();
  const bytesOf = decoderBytes[encoding];
  let hold: Hold | null = null;
  try {
    if (bytesOf !== undefined) hold = call.isolate.memory.hold(bytesOf(0), 'A decoder of a fetched body');
  } catch (error) {
    response.body.destroy();
    throw error;
  }
  const decoder = decoders[encoding]?.();
  if (hold !== null && decoder !== undefined) holdFor(decoder, response.body, hold, bytesOf!);
  let block = '';
  for (let at = 0; at < fields.length; at += 2) {
    const name = (fields[at] as string).toLowerCase();
    if (decoder !== undefined && (name === 'content-encoding' || name === 'content-length')) continue;
    if (name === 'connection' || name === 'keep-alive' || name === 'transfer-encoding') continue;
    block += `${name}\0${fields[at + 1] as string}\0`;
  }
  const head = {
    status: response.statusCode,
    statusText: response.statusText ?? '',
    headers: block,
    url: target.href,
    redirected,
  };
  const body: Readable =
    decoder === undefined
      ? response.body
      : response.body.on('error', (error: Error) => decoder.destroy(error)).pipe(decoder);
  // Decoded on the thread pool, by what comes out: a small body may become a large one.
  const paid = (chunk: Uint8Array): void => {
    if (decoder !== undefined) call.owner.settleCpu(0, chunk.byteLength / DECODED_BYTES_PER_MS);
  };
  const { chunks, ended } = await firstChunks(body);
  chunks.forEach(paid);
  if (ended)
    return {
      value: { ...head, stream: null, part: chunks.length > 0 },
      parts: chunks.length > 0 ? [concat(chunks)] : [],
      transfer: true,
    };
  let stream: GuestStream;
  try {
    stream = call.isolate.openStream({ resume: () => body.resume(), cancel: () => body.destroy() });
  } catch (error) {
    body.destroy();
    response.body.destroy();
    throw error;
  }
  let failure: Error | null = null;
  const broken = (error: Error): void =>
    stream.break({ code: 'fetch_failed', name: 'TypeError', message: `terminated: ${error.message}` });
  const keep = (error: Error): void => void (failure = error);
  body.on('error', keep);
  // The answer, which names the stream, has to be on its way before the first chunk.
  setImmediate(() => {
    let open = true;
    for (const chunk of chunks) open = stream.write(chunk, true);
    body.off('error', keep);
    if (failure !== null) {
      broken(failure);
      return;
    }
    body.on('data', (chunk: Uint8Array) => {
      paid(chunk);
      if (!stream.write(chunk, true)) body.pause();
    });
    body.on('end', () => stream.end());
    body.on('error', broken);
    // It was paused by hand, which a listener alone does not undo.
    if (open) body.resume();
  });
  return { value: { ...head, stream: stream.id, part: false } };
}

/** What a decoder takes is known when the first bytes come, and over when it is closed. */
function holdFor(decoder: Readable, encoded: Readable, hold: Hold, bytesOf: CodecBytes): void {
  decoder.once('close', () => hold.release());
  encoded.once('data', (first: Uint8Array) => {
    try {
      hold.grow(bytesOf(0, first));
    } catch (error) {
      decoder.destroy(error as Error);
    }
  });
}

/** What has come of a body within one turn after its first chunk: small answers need no stream. */
function firstChunks(body: Readable): Promise<{ chunks: Uint8Array[]; ended: boolean }> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    let waiting = false;
    const finish = (ended: boolean): void => {
      body.pause();
      body.off('data', onChunk).off('end', onEnd).off('error', onError);
      resolve({ chunks, ended });
    };
    const onChunk = (chunk: Uint8Array): void => {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes > PART_BYTES_MAX) finish(false);
      else if (!waiting) {
        waiting = true;
        setImmediate(() => setImmediate(() => body.listeners('data').includes(onChunk) && finish(false)));
      }
    };
    const onEnd = (): void => finish(true);
    const onError = (error: Error): void => {
      reject(new PlatformError('fetch_failed', { reason: `terminated: ${error.message}` }, { cause: error }));
    };
    body.on('data', onChunk).on('end', onEnd).on('error', onError);
  });
}

function concat(chunks: readonly Uint8Array[]): Uint8Array {
  return chunks.length === 1 ? new Uint8Array(chunks[0] as Uint8Array) : new Uint8Array(Buffer.concat(chunks));
}
