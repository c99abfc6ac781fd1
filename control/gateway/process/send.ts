// The way out to providers: connections that are kept, none of them to an address that the egress policy forbids unless
// the operator named the provider; redirects are not followed. The gateway itself holds an answer to its times and
// sizes.
import { Readable } from 'node:stream';
import type { ReadableStream as WebStream } from 'node:stream/web';
import { Agent, type Dispatcher } from 'undici';
import { guardedLookup, urlProblem } from '../../outbound/post.ts';
import type { GatewayParts } from '../contract.ts';

const CONNECT_MS = 10_000;
const KEPT_MS = 30_000;
const FORBIDDEN = 'EGRESS_FORBIDDEN';
/** Without a body, as fetch has it. */
const bodiless = new Set([204, 205, 304]);

export interface Outlet {
  readonly send: GatewayParts['send'];
  close(): Promise<void>;
}

export function openOutlet(): Outlet {
  const open = (isPrivate: boolean): Agent =>
    new Agent({
      connect: { lookup: guardedLookup(isPrivate), timeout: CONNECT_MS },
      allowH2: false,
      bodyTimeout: 0,
      headersTimeout: 0,
      keepAliveTimeout: KEPT_MS,
    });
  const agents = { public: open(false), private: open(true) };
  return {
    async send(request, { isPrivate }) {
      const problem = urlProblem(request.url, isPrivate);
      if (problem !== null) throw Object.assign(new Error(`The URL of the provider ${problem}`), { code: FORBIDDEN });
      const { origin, pathname, search } = new URL(request.url);
      const body = request.body === null ? null : Buffer.from(await request.arrayBuffer());
      const answer = await agents[isPrivate ? 'private' : 'public'].request({
        origin,
        path: `${pathname}${search}`,
        method: request.method as Dispatcher.HttpMethod,
        headers: [...request.headers].flat(),
        body,
        signal: request.signal,
      });
      return toResponse(answer);
    },
    async close() {
      await Promise.all([agents.public.destroy(), agents.private.destroy()]);
    },
  };
}

function toResponse({ statusCode, headers, body }: Dispatcher.ResponseData): Response {
  const list = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of Array.isArray(value) ? value : [value ?? '']) list.append(name, one);
  // What no server says.
  const status = statusCode >= 200 && statusCode <= 599 ? statusCode : 502;
  if (!bodiless.has(status))
    return new Response(Readable.toWeb(body) as WebStream<Uint8Array> as never, { status, headers: list });
  body.destroy();
  return new Response(null, { status, headers: list });
}
