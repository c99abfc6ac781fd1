// Answers a request to Node's server with a function for web requests. Used by server.ts and resource-api.ts.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Streams both bodies; a client that disconnects aborts the request. @param headers added to those of the response. */
export async function answerWith(
  answer: (request: Request) => Promise<Response>,
  request: IncomingMessage,
  response: ServerResponse,
  path = request.url!,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const answered = await answer(
    new Request(`http://dashboard${path}`, {
      method: request.method ?? 'GET',
      headers: new Headers(Object.entries(request.headers).filter(isPlain)),
      signal: gone.signal,
      ...(hasBody && { body: Readable.toWeb(request) as ReadableStream, duplex: 'half' }),
    }),
  );
  // The connection is closed, because unread parts of the request's body stay in it.
  const ending = request.readableEnded || !hasBody ? {} : { connection: 'close' };
  response.writeHead(answered.status, { ...headers, ...Object.fromEntries(answered.headers), ...ending });
  if (answered.body === null) response.end();
  else {
    response.flushHeaders();
    await pipeline(Readable.fromWeb(answered.body as Parameters<typeof Readable.fromWeb>[0]), response);
  }
}

function isPlain(header: [string, string | string[] | undefined]): header is [string, string] {
  return typeof header[1] === 'string' && !header[0].startsWith(':');
}
