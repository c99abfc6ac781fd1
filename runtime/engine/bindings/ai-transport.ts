// The transport to the AI gateway: over the socket of its process, or inside the same process in `platform dev`.
// Requests come from ai.ts (env.AI) and from fetch.ts (a fetch to PLATFORM_AI_URL).
import { Readable } from 'node:stream';
import type { ReadableStream as WebStream } from 'node:stream/web';
import type { Agent, Dispatcher } from 'undici';
import { aiAdvice } from '#core/ai-readiness.ts';
import { AI_CALLER_HEADER, encodeCaller, type AiCaller } from '#core/ai-caller.ts';
import { PlatformError } from '#core/errors.ts';
import { loadFetchLibrary } from './fetch-agent.ts';
import { requestOf, type FetchedResponse } from './fetched-response.ts';

/** A request to the gateway. */
interface AiRequest {
  readonly method: string;
  /** Begins with `/ai`. */
  readonly path: string;
  /** Lower-case names and values, alternating. */
  readonly headers: readonly string[];
  readonly body: Uint8Array | string | Readable | null;
  /** The caller; null means that a token in `headers` identifies the caller. */
  readonly caller: AiCaller | null;
  /** The deployment's token, for a gateway that requires a token; null if there is none, or it is in `headers`. */
  readonly token: string | null;
  readonly signal: AbortSignal;
}

export interface AiTransport {
  /** @throws {PlatformError} `fetch_failed` if the gateway cannot be reached. */
  request(request: AiRequest): Promise<FetchedResponse>;
  close(): Promise<void>;
}

/** The gateway's address, and the URL under which workers know it (PLATFORM_AI_URL), or null. */
export interface AiAddress {
  readonly transport: AiTransport;
  readonly url: () => string | null;
}

/**
 * The gateway path of a worker's fetch; null if it is not for the gateway. The URL must begin with the origin and path
 * of PLATFORM_AI_URL: other paths of that origin do not belong to the gateway.
 *
 * @example pathOnGateway(new URL('http://localhost:4002/ai/v1/models'), address) // '/ai/v1/models'
 */
export function pathOnGateway(target: URL, { url }: AiAddress): string | null {
  const base = URL.parse(url() ?? '');
  if (base === null || target.origin !== base.origin) return null;
  const prefix = base.pathname.replace(/\/+$/, '');
  if (target.pathname !== prefix && !target.pathname.startsWith(`${prefix}/`)) return null;
  return `/ai${target.pathname.slice(prefix.length)}${target.search}`;
}

/** Headers that identify the caller and count hops, which the platform sets, never a worker. */
const OWN_HEADERS = /^(?:host|x-platform-ai-.*)$/;

function headersOf({ headers, caller }: AiRequest): string[] {
  const sent: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2)
    if (!OWN_HEADERS.test(headers[at]!.toLowerCase())) sent.push(headers[at]!, headers[at + 1]!);
  if (caller !== null) sent.push(AI_CALLER_HEADER, encodeCaller(caller));
  return sent;
}

/** Header for the token, if the gateway requires one from every caller. */
function withToken(request: AiRequest): string[] {
  const sent = headersOf({ ...request, caller: null });
  if (request.caller !== null && request.token !== null) sent.push('authorization', `Bearer ${request.token}`);
  return sent;
}

/** Transport to the gateway's process. @param socketPath the path of the socket that trusts engines. */
export function createAiSocket(socketPath: string): AiTransport {
  return createConnections('http://gateway', { socketPath }, headersOf);
}

/** Transport to the API of another machine, which proxies requests with the deployment's token. */
export function createAiOrigin(origin: string): AiTransport {
  return createConnections(origin, {}, withToken);
}

function createConnections(
  origin: string,
  to: { readonly socketPath?: string },
  said: (request: AiRequest) => string[],
): AiTransport {
  let library: Promise<Agent> | null = null;
  const connect = (): Promise<Agent> =>
    (library ??= loadFetchLibrary().then(
      ({ Agent: Connections, buildConnector }) =>
        new Connections({
          connect: buildConnector({ ...to, allowH2: false }),
          allowH2: false,
          bodyTimeout: 0,
          headersTimeout: 0,
        }),
    ));
  return {
    async request(request) {
      const { method, path, body, signal } = request;
      const agent = await connect();
      return requestOf(
        agent,
        { origin, path, method: method as Dispatcher.HttpMethod },
        { headers: said(request), body, signal },
        'the AI gateway',
      );
    },
    async close() {
      await (await library)?.destroy();
    },
  };
}

/** Transport to a function of this process. @param answer receives null when a token identifies the caller. */
export function createAiFunction(
  answer: (request: Request, caller: AiCaller | null) => Promise<Response>,
): AiTransport {
  return {
    async request(request) {
      const { method, path, body, caller, signal } = request;
      const sent = headersOf({ ...request, caller: null });
      const pairs = sent.flatMap((name, at): [string, string][] => (at % 2 === 0 ? [[name, sent[at + 1]!]] : []));
      const asked = new Request(`http://gateway${path}`, {
        method,
        headers: pairs,
        body: (body instanceof Readable ? Readable.toWeb(body) : body) as RequestInit['body'],
        duplex: 'half',
        signal,
      } as RequestInit);
      let response: Response;
      try {
        response = await answer(asked, caller);
      } catch (error) {
        throw new PlatformError('fetch_failed', { reason: 'fetch failed: the AI gateway' }, { cause: error });
      }
      const content = response.body === null ? Readable.from([]) : Readable.fromWeb(response.body as WebStream);
      // A cancelled stream emits an error, which may have no listener by then.
      content.on('error', () => {});
      return {
        statusCode: response.status,
        statusText: response.statusText,
        headers: [...response.headers].flat(),
        body: content,
      };
    },
    close: () => Promise.resolve(),
  };
}

const REFUSAL = JSON.stringify({
  error: {
    message: aiAdvice.no_gateway,
    type: 'server_error',
    param: null,
    code: 'provider_not_configured',
  },
});

/** Transport if there is no gateway: calls fail as with a gateway without providers. */
export const noAiGateway: AiTransport = {
  request: () =>
    Promise.resolve({
      statusCode: 503,
      statusText: 'Service Unavailable',
      headers: ['content-type', 'application/json', 'x-should-retry', 'false'],
      body: Readable.from([Buffer.from(REFUSAL)]),
    }),
  close: () => Promise.resolve(),
};
