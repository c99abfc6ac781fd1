// Proxies requests for /ai to the AI gateway's process over its socket. Bodies stream in both directions, and a
// disconnect on either side ends the other. The gateway checks the token and counts the call.
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ReadableStream as WebStream } from 'node:stream/web';
import type { Dispatcher, Pool } from 'undici';
import { aiAdvice } from '#core/ai-readiness.ts';
import { AI_CALLER_HEADER } from '#core/ai-caller.ts';
import { ServedResponse } from '#core/process/serve-http.ts';

/** Handles requests for the gateway; returns null for other requests. */
interface AiProxy {
  fetch(request: Request): Promise<Response> | null;
  close(): Promise<void>;
}

const PATH = /^\/ai(?:\/|$)/;
const SHORT_BYTES_MAX = 64 * 1024;
const CONNECTIONS_MAX = 2048;
/** Hop-by-hop headers, and headers that clients must not set. */
const DROPPED = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
  'cookie',
  AI_CALLER_HEADER,
]);

/** @param socket null: no gateway. */
export function openAiProxy(socket: string | null): AiProxy {
  if (socket === null)
    return {
      fetch: (request) => (isOurs(request) ? Promise.resolve(away(aiAdvice.no_gateway, true)) : null),
      close: () => Promise.resolve(),
    };
  let pool: Promise<Pool> | null = null;
  // Loading undici takes 135 ms and 18 MB, so only do it when needed.
  const open = async (): Promise<Pool> => {
    const { Pool: Connections } = await import('undici');
    return new Connections('http://gateway', {
      connect: { socketPath: socket },
      connections: CONNECTIONS_MAX,
      allowH2: false,
      bodyTimeout: 0,
      headersTimeout: 0,
    });
  };
  return {
    fetch: (request) => (isOurs(request) ? forward((pool ??= open()), request) : null),
    close: async () => (await pool)?.destroy(),
  };
}

const isOurs = (request: Request): boolean => PATH.test(new URL(request.url).pathname);

async function forward(opening: Promise<Pool>, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  try {
    const pool = await opening;
    const answer = await pool.request({
      path: `${pathname}${search}`,
      method: request.method as Dispatcher.HttpMethod,
      headers: [...request.headers].filter(([name]) => !DROPPED.has(name)).flat(),
      body: await bodyOf(request),
      signal: request.signal,
    });
    const headers: [string, string][] = [];
    for (const [name, value] of Object.entries(answer.headers)) {
      if (DROPPED.has(name)) continue;
      for (const one of Array.isArray(value) ? value : [value ?? '']) headers.push([name, one]);
    }
    const body = isShort(answer.headers['content-length']) ? await answer.body.bytes() : answer.body;
    return new ServedResponse(body as Uint8Array<ArrayBuffer>, { status: answer.statusCode, headers });
  } catch {
    return away('The AI gateway cannot be reached: try again', false);
  }
}

/** Uses Node's stream directly, because a web stream costs as much as the rest of the proxy. */
function bodyOf(request: Request & { readonly runtime?: { readonly node?: { readonly req: Readable } } }) {
  if (request.method === 'GET' || request.method === 'HEAD') return null;
  const sent = request.runtime?.node?.req;
  if (sent === undefined) return request.body === null ? null : Readable.fromWeb(request.body as WebStream<Uint8Array>);
  if (isShort(request.headers.get('content-length'))) return buffer(sent);
  // The gateway may respond without reading the body; the rest must be drained, or it blocks the next request.
  const body = new PassThrough();
  sent.pipe(body).once('close', () => sent.unpipe(body).resume());
  return body;
}

/** A short body is buffered, so that headers and body are sent in one write. */
function isShort(length: string | string[] | null | undefined): boolean {
  return typeof length === 'string' && Number(length) <= SHORT_BYTES_MAX;
}

/** An error in the format of the AI gateway. */
function away(message: string, isFinal: boolean): Response {
  const code = isFinal ? 'provider_not_configured' : 'upstream_error';
  return Response.json(
    { error: { message, type: 'server_error', param: null, code } },
    { status: 503, headers: isFinal ? { 'x-should-retry': 'false' } : { 'retry-after': '1' } },
  );
}
