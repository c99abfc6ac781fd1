// Serves a worker's fetch to a host of this platform by passing it to the handler, since the policy refuses the
// machine's own addresses. Each hop increments a header that workers cannot set, so that fetch loops end. Created by
// main.ts; used by bindings/fetch.ts.
import { Readable } from 'node:stream';
import { REFUSED_STATUS } from '#core/object-address.ts';
import type { FetchedResponse } from '../bindings/fetched-response.ts';
import type { PlatformHosts, PlatformHostRequest, SocketOpener } from '../bindings/platform-hosts.ts';
import { HeadCache } from './header-block.ts';
import {
  answerInside,
  HOPS_HEADER,
  HOPS_MAX,
  insideBlock,
  LOOP_REASON,
  LoopbackExchange,
} from './loopback-exchange.ts';
import type { Exchange } from './listener.ts';

/** Dependencies. */
interface PlatformHostsDeps {
  /** Whether a URL belongs to a project on this platform. */
  readonly has: (target: URL) => boolean;
  readonly serve: (exchange: Exchange) => void;
  /** The platform's own domains. No cookie may be set for all of their hosts. */
  readonly domains: readonly string[];
  readonly bodyBytesMax: number;
}

export function createPlatformHosts(deps: PlatformHostsDeps): PlatformHosts {
  const heads = new HeadCache(deps.domains);
  return { has: deps.has, fetch: (target, request) => fetchInside({ ...deps, heads }, target, request) };
}

/** Dependencies of a request without a socket. */
interface InsideDeps extends Pick<PlatformHostsDeps, 'serve' | 'bodyBytesMax'> {
  readonly heads: HeadCache;
  readonly isOfObject?: boolean;
  readonly socket?: SocketOpener | null;
}

/** A worker's request that stays inside this process, with its depth. */
export async function fetchInside(
  { serve, bodyBytesMax, heads, isOfObject = false, socket = null }: InsideDeps,
  target: URL,
  { method, headers, body, signal, received }: PlatformHostRequest,
): Promise<FetchedResponse> {
  const passed = Number(received(HOPS_HEADER) ?? 0);
  if (!(passed < HOPS_MAX)) return loopDetected(isOfObject);
  if (body !== null && !(body instanceof Readable) && Buffer.byteLength(body) > bodyBytesMax)
    return refusal(isOfObject, 413, 'Content Too Large', {
      error: `The request body is larger than ${bodyBytesMax} bytes`,
      code: 'body_too_large',
    });
  const exchange = new LoopbackExchange(
    {
      method: method.toUpperCase(),
      target: `${target.pathname}${target.search}`,
      host: target.host,
      headerBlock: insideBlock(target.host, passed + 1, headers, body),
      body,
      bodyBytesMax,
      isOfObject,
      socket,
    },
    heads,
  );
  return answerInside(exchange, signal, serve);
}

function loopDetected(isOfObject: boolean): FetchedResponse {
  return refusal(isOfObject, 508, 'Loop Detected', {
    error: LOOP_REASON,
    code: 'loop_detected',
  });
}

/** @param isOfObject whether the caller must throw the error. */
function refusal(
  isOfObject: boolean,
  status: number,
  statusText: string,
  body: { readonly error: string; readonly code: string },
): FetchedResponse {
  return {
    statusCode: isOfObject ? REFUSED_STATUS : status,
    statusText,
    headers: ['content-type', 'application/json', 'cache-control', 'no-store'],
    body: Readable.from([Buffer.from(JSON.stringify(isOfObject ? { code: body.code, message: body.error } : body))]),
  };
}
