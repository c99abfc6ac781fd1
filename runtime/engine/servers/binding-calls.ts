// The Unix socket on which servers of ssr projects call their bindings. Only the process that runs the servers can
// reach it, and names the calling server in a header. Each call goes to the worker of that deployment, in its isolate.
// Opened by main.ts.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { SERVER_KEY_HEADER } from '#core/ssr/protocol.ts';
import { HeadCache } from '../http/header-block.ts';
import { LoopbackExchange } from '../http/loopback-exchange.ts';
import type { Exchange } from '../http/listener.ts';
import { blockOf } from './proxied-request.ts';

/** Dependencies. */
interface BindingCallsDeps {
  readonly path: string;
  readonly bodyBytesMax: number;
  /** Serves a call; returns false if this engine does not know the deployment. */
  readonly call: (key: string, exchange: Exchange) => boolean;
}

/** @throws {Error} of the system when the socket cannot be made. */
export async function openBindingCalls({ path, bodyBytesMax, call }: BindingCallsDeps): Promise<Server> {
  const { createServer } = process.getBuiltinModule('node:http');
  const heads = new HeadCache();
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    const key = request.headers[SERVER_KEY_HEADER];
    const exchange = new LoopbackExchange(
      {
        method: request.method ?? 'GET',
        target: request.url ?? '/',
        host: 'bindings.internal',
        headerBlock: withoutKey(request),
        body: hasBody(request) ? request : null,
        bodyBytesMax,
      },
      heads,
    );
    response.once('close', () => exchange.abort(new Error('The caller disconnected')));
    answer(exchange, response).catch(() => response.destroy());
    if (typeof key !== 'string' || !call(key, exchange))
      exchange.send(404, 'content-type\0application/json\0', UNKNOWN);
  });
  await new Promise<void>((resolve, reject) => void server.once('error', reject).listen(path, resolve));
  return server;
}

const UNKNOWN = JSON.stringify({ error: { name: 'Error', message: 'This deployment no longer exists' } });

async function answer(exchange: LoopbackExchange, response: ServerResponse): Promise<void> {
  const { statusCode, headers, body } = await exchange.answer;
  response.writeHead(statusCode, [...headers]);
  body.once('error', () => response.destroy());
  body.pipe(response);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function withoutKey({ rawHeaders }: IncomingMessage): string {
  const kept = rawHeaders.filter((_, at) => rawHeaders[at - (at % 2)]!.toLowerCase() !== SERVER_KEY_HEADER);
  return blockOf(kept);
}
