// A worker's fetch to a host of this platform: passed on to the handler as it is, since the policy refuses the
// machine's own addresses. Each worker on the way adds one to a header that workers cannot set, so that those who fetch
// each other come to an end. Made by main.ts; bindings/fetch.ts asks it.
import { Readable } from 'node:stream';
import type { FetchedResponse } from '../bindings/fetched-response.ts';
import type { OwnHosts, OwnRequest } from '../bindings/own-hosts.ts';
import { HeadCache } from './header-block.ts';
import { InsideExchange } from './inside-exchange.ts';
import type { Exchange } from './listener.ts';

/** How often workers of this platform have passed a request on. */
const HOPS_HEADER = 'x-platform-hops';
const HOPS_MAX = 16;
/** The exchange's own, or of the platform. */
const OWN_HEADERS = /^(?:host|content-length|x-platform-hops)$/;

/** What it is made of. */
interface OwnHostsParts {
  /** Whether an address is one of a project here. */
  readonly has: (target: URL) => boolean;
  readonly serve: (exchange: Exchange) => void;
  /** The platform's own: no cookie may be for all of their hosts. */
  readonly domains: readonly string[];
  readonly bodyBytesMax: number;
}

export function createOwnHosts(parts: OwnHostsParts): OwnHosts {
  const heads = new HeadCache(parts.domains);
  return { has: parts.has, fetch: (target, request) => fetchInside(parts, heads, target, request) };
}

async function fetchInside(
  { serve, bodyBytesMax }: OwnHostsParts,
  heads: HeadCache,
  target: URL,
  { method, headers, body, signal, received }: OwnRequest,
): Promise<FetchedResponse> {
  const passed = Number(received(HOPS_HEADER) ?? 0);
  if (!(passed < HOPS_MAX)) return loopDetected();
  if (body !== null && !(body instanceof Readable) && Buffer.byteLength(body) > bodyBytesMax)
    return refusal(413, 'Content Too Large', {
      error: `The request body is larger than ${bodyBytesMax} bytes`,
      code: 'body_too_large',
    });
  let block = `host\0${target.host}\0${HOPS_HEADER}\0${passed + 1}\0`;
  for (let at = 0; at + 1 < headers.length; at += 2)
    if (!OWN_HEADERS.test(headers[at]!)) block += `${headers[at]}\0${headers[at + 1]}\0`;
  if (body !== null && !(body instanceof Readable)) block += `content-length\0${Buffer.byteLength(body)}\0`;
  const exchange = new InsideExchange(
    {
      method: method.toUpperCase(),
      target: `${target.pathname}${target.search}`,
      host: target.host,
      headerBlock: block,
      body,
      bodyBytesMax,
    },
    heads,
  );
  const onAbort = (): void => exchange.abort(new Error('The request was aborted', { cause: signal.reason }));
  signal.addEventListener('abort', onAbort);
  // The isolate that asks may be the one that answers: it has to be through with what it said.
  setImmediate(() => {
    if (signal.aborted) onAbort();
    else serve(exchange);
  });
  const { status, headers: said, body: content } = await exchange.answer;
  content.once('close', () => signal.removeEventListener('abort', onAbort));
  return { statusCode: status, statusText: '', headers: said, body: content };
}

function loopDetected(): FetchedResponse {
  return refusal(508, 'Loop Detected', {
    error: `Workers of this platform have passed the request on ${HOPS_MAX} times: they fetch each other`,
    code: 'loop_detected',
  });
}

function refusal(statusCode: number, statusText: string, body: object): FetchedResponse {
  return {
    statusCode,
    statusText,
    headers: ['content-type', 'application/json', 'cache-control', 'no-store'],
    body: Readable.from([Buffer.from(JSON.stringify(body))]),
  };
}
