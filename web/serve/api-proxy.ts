// Proxies `/api/` to the API process; bodies and events stream both ways. Sets the client's address, which the API
// trusts because of the token (control/process/web-proxy.ts).
import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';
import { pipeline } from 'node:stream';
import type { Logger } from 'pino';
import { CLIENT_HEADER, WEB_TOKEN_HEADER } from '#core/process/web-proxy.ts';

/** Address of the API process. */
export type ApiAddress = { readonly socketPath: string } | { readonly host: string; readonly port: number };

interface ApiProxyDeps {
  readonly api: ApiAddress;
  /** `WEB_TOKEN`. */
  readonly token: string;
  readonly limits: { readonly proxiedMax: number; readonly answerMs: number };
  readonly log: Logger;
}

/** The proxy to the API. */
interface ApiProxy {
  (request: IncomingMessage, response: ServerResponse): void;
  close(): void;
}

/** Below the API's idle timeout of 5 s, so that no closed connection is reused. */
const IDLE_MS = 1000;
const CONNECT_MS = 5000;

/** Hop-by-hop headers, and headers that only this proxy may set. */
const own = new Set([
  ...'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer'.split(' '),
  ...'transfer-encoding upgrade expect'.split(' '),
  CLIENT_HEADER,
  WEB_TOKEN_HEADER,
]);

/** @example createApiProxy({ api: { host: 'api', port: 4003 }, token, limits, log }) */
export function createApiProxy({ api, token, limits, log }: ApiProxyDeps): ApiProxy {
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 64 });
  let running = 0;

  const apiProxy = (request: IncomingMessage, response: ServerResponse): void => {
    if (running >= limits.proxiedMax) {
      fail(request, response, 503, 'Too many concurrent requests: try again');
      return;
    }
    running++;
    response.once('close', () => running--);
    send(request, response, false);
  };

  function send(request: IncomingMessage, response: ServerResponse, isRetry: boolean): void {
    const hasBody = request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length']) > 0;
    const passed = httpRequest({
      ...api,
      agent: isRetry ? false : agent,
      method: request.method!,
      path: request.url!,
      headers: {
        ...passedHeaders(request),
        ...(request.headers['transfer-encoding'] !== undefined && { 'transfer-encoding': 'chunked' }),
        [CLIENT_HEADER]: request.socket.remoteAddress ?? '',
        [WEB_TOKEN_HEADER]: token,
      },
    });
    let late: NodeJS.Timeout | undefined;
    const wait = (ms: number, what: string): void => {
      clearTimeout(late);
      late = setTimeout(() => passed.destroy(new Error(what)), ms);
    };
    wait(CONNECT_MS, `no connection within ${CONNECT_MS / 1000} s`);
    passed.once('socket', (socket) => {
      const connected = (): void => {
        clearTimeout(late);
        const awaitAnswer = (): void => wait(limits.answerMs, `no answer within ${limits.answerMs} ms`);
        if (!hasBody || request.readableEnded) awaitAnswer();
        else request.once('end', awaitAnswer);
      };
      if (socket.connecting) socket.once('connect', connected);
      else connected();
    });
    passed.once('response', (answer) => {
      clearTimeout(late);
      passed.off('error', failed);
      passed.on('error', () => response.destroy());
      response.writeHead(answer.statusCode!, answer.statusMessage, answerHeaders(answer));
      // Send headers immediately, for event streams.
      response.flushHeaders();
      pipeline(answer, response, (error) => {
        if (error !== undefined && error !== null) response.destroy();
      });
    });
    const failed = (error: Error): void => {
      clearTimeout(late);
      if (response.destroyed || response.headersSent) return;
      // The API closed an idle connection just when we reused it, without seeing the request.
      const isSafe = request.method === 'GET' || request.method === 'HEAD';
      if (passed.reusedSocket && isSafe && !hasBody && !isRetry) {
        send(request, response, true);
        return;
      }
      const isAway = /ECONNREFUSED|ENOENT|ENOTFOUND|EAI_AGAIN/.test((error as NodeJS.ErrnoException).code ?? '');
      log.warn({ reason: error.message }, 'API not reached');
      if (isAway) fail(request, response, 503, 'The API is starting or unavailable: try again in a moment');
      else fail(request, response, 502, 'The API did not respond: try again');
    };
    passed.on('error', failed);
    response.once('close', () => {
      clearTimeout(late);
      if (!response.writableFinished) passed.destroy();
    });
    if (hasBody) {
      request.once('error', () => passed.destroy());
      request.pipe(passed);
    } else passed.end();
  }

  return Object.assign(apiProxy, { close: () => agent.destroy() });
}

/** Request headers without hop-by-hop headers and headers that the client must not set. */
function passedHeaders({ headers }: IncomingMessage): Record<string, string | string[]> {
  const named = connectionNames(headers.connection);
  return Object.fromEntries(
    Object.entries(headers).filter(
      (entry): entry is [string, string | string[]] =>
        entry[1] !== undefined && !own.has(entry[0]) && !named.has(entry[0]),
    ),
  );
}

/** Response headers as a flat list, since headers may repeat. */
function answerHeaders({ headers, rawHeaders }: IncomingMessage): string[] {
  const named = connectionNames(headers.connection);
  const kept: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    if (!own.has(name) && !named.has(name)) kept.push(rawHeaders[at]!, rawHeaders[at + 1]!);
  }
  return kept;
}

function connectionNames(header: string | undefined): ReadonlySet<string> {
  return new Set(
    (header ?? '')
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
}

/** An error in the format of the API, or plain text for page loads. */
function fail(request: IncomingMessage, response: ServerResponse, status: 502 | 503, message: string): void {
  const isPage = (request.headers.accept ?? '').includes('text/html');
  const requestId = randomUUID();
  const body = isPage ? `${message}\n` : JSON.stringify({ message, code: 'unavailable', requestId });
  response.writeHead(status, {
    'content-type': isPage ? 'text/plain; charset=utf-8' : 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
    'retry-after': '2',
    // The rest of the request body is not read.
    ...(request.complete ? {} : { connection: 'close' }),
  });
  response.end(body);
}
