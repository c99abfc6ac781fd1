// The way to the AI gateway: over the socket of its process, or in `platform dev` into the same process. What workers
// ask of it comes from ai.ts (env.AI) and from fetch.ts (a fetch to PLATFORM_AI_URL).
import { Readable } from 'node:stream';
import type { ReadableStream as WebStream } from 'node:stream/web';
import type { Agent, Dispatcher } from 'undici';
import { aiAdvice } from '#core/ai-readiness.ts';
import { AI_CALLER_HEADER, encodeCaller, type AiCaller } from '#core/ai-caller.ts';
import { PlatformError } from '#core/errors.ts';
import { loadFetchLibrary } from './fetch-agent.ts';
import { requestOf, type FetchedResponse } from './fetched-response.ts';

/** A request to the gateway. */
export interface AiRequest {
  readonly method: string;
  /** Begins with `/ai`. */
  readonly path: string;
  /** Names in lower case and values, in turn. */
  readonly headers: readonly string[];
  readonly body: Uint8Array | string | Readable | null;
  /** Null: a token in `headers` says it. */
  readonly caller: AiCaller | null;
  /** Of the deployment, for a gateway that takes nobody's word; null: it has none, or `headers` say it. */
  readonly token: string | null;
  readonly signal: AbortSignal;
}

export interface AiTransport {
  /** @throws {PlatformError} `fetch_failed`: the gateway cannot be reached. */
  request(request: AiRequest): Promise<FetchedResponse>;
  close(): Promise<void>;
}

/** Where the gateway is, and the address under which workers know it (PLATFORM_AI_URL); null: under none. */
export interface AiAddress {
  readonly transport: AiTransport;
  readonly url: () => string | null;
}

/**
 * The path on the gateway that a worker's fetch means; null: it means somebody else. Just the origin and the path of
 * PLATFORM_AI_URL: what else there is at that origin is nothing of the gateway's.
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

/** Headers that say who calls, and how often a request has come round: the platform's word, never a worker's. */
const OWN_HEADERS = /^(?:host|x-platform-ai-.*)$/;

function headersOf({ headers, caller }: AiRequest): string[] {
  const sent: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2)
    if (!OWN_HEADERS.test(headers[at]!.toLowerCase())) sent.push(headers[at]!, headers[at + 1]!);
  if (caller !== null) sent.push(AI_CALLER_HEADER, encodeCaller(caller));
  return sent;
}

/** For a gateway that wants a token of everybody. */
function withToken(request: AiRequest): string[] {
  const sent = headersOf({ ...request, caller: null });
  if (request.caller !== null && request.token !== null) sent.push('authorization', `Bearer ${request.token}`);
  return sent;
}

/** To the gateway's process. @param socketPath of the socket that takes the word of engines. */
export function createAiSocket(socketPath: string): AiTransport {
  return createConnections('http://gateway', { socketPath }, headersOf);
}

/** To the API of another machine, which passes on what has the deployment's token. */
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

/** Into this process. @param answer gets null where a token says who calls. */
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
      // One that is given up says so as an error, which nobody may be listening for by then.
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

/** Where there is no gateway: says so, as one without providers does. */
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
