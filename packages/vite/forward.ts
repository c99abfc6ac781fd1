// Proxies requests from Vite's server to the engine, unchanged and streamed both ways.
import { request as open, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { Readable, type Duplex } from 'node:stream';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';

/** Hop-by-hop headers. */
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'proxy-connection']);

/** Proxies a request to the engine. @param failed the engine could not be reached. */
export function forward(
  port: number,
  incoming: IncomingMessage,
  response: ServerResponse,
  failed: (error: Error) => void,
): void {
  const { method, rawHeaders } = incoming;
  const url = (incoming as IncomingMessage & { originalUrl?: string }).originalUrl ?? incoming.url;
  const outgoing = open(
    { host: '127.0.0.1', port, method, path: url, headers: listed(rawHeaders), setHost: false },
    (answer) => {
      // Headers that Vite set for its own responses (for example CORS) are kept unless the worker sets them.
      for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2) {
        const name = answer.rawHeaders[at]!;
        if (!OF_CONNECTION.has(name.toLowerCase())) response.removeHeader(name);
      }
      response.statusCode = answer.statusCode!;
      response.statusMessage = answer.statusMessage ?? '';
      for (const [name, values] of Object.entries(answer.headersDistinct))
        if (!OF_CONNECTION.has(name)) response.setHeader(name, values!.length === 1 ? values![0]! : values!);
      response.flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    },
  );
  outgoing.on('error', (error) => {
    if (response.headersSent) response.destroy();
    else failed(error);
  });
  response.on('close', () => outgoing.destroy());
  incoming.pipe(outgoing);
}

/** Name, value, name, value ... without hop-by-hop headers. */
function listed(raw: readonly string[]): string[] {
  const headers: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2)
    if (!OF_CONNECTION.has(raw[at]!.toLowerCase())) headers.push(raw[at]!, raw[at + 1]!);
  return headers;
}

/** Connects a socket that requests an upgrade to the engine. */
export function forwardUpgrade(port: number, incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  const upstream = connect(port, '127.0.0.1', () => {
    const lines = [`${incoming.method} ${incoming.url} HTTP/1.1`];
    for (let at = 0; at + 1 < incoming.rawHeaders.length; at += 2)
      lines.push(`${incoming.rawHeaders[at]}: ${incoming.rawHeaders[at + 1]}`);
    upstream.write(`${lines.join('\r\n')}\r\n\r\n`);
    upstream.write(head);
    upstream.pipe(socket);
    socket.pipe(upstream);
  });
  for (const [one, other] of [
    [upstream, socket],
    [socket, upstream],
  ] as const) {
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}

/** The engine's response to a fetch Request. */
export async function dispatch(port: number, request: Request): Promise<Response> {
  const url = new URL(request.url);
  const headers = [...request.headers].flat();
  if (!request.headers.has('host')) headers.push('host', url.host);
  return new Promise((resolve, reject) => {
    const outgoing = open(
      { host: '127.0.0.1', port, method: request.method, path: url.pathname + url.search, headers, setHost: false },
      (answer) => {
        const { rawHeaders, statusCode = 500 } = answer;
        const pairs: [string, string][] = [];
        for (let at = 0; at + 1 < rawHeaders.length; at += 2) pairs.push([rawHeaders[at]!, rawHeaders[at + 1]!]);
        const hasBody = ![101, 204, 205, 304].includes(statusCode) && request.method !== 'HEAD';
        if (!hasBody) answer.resume();
        resolve(
          new Response(hasBody ? (Readable.toWeb(answer) as unknown as ReadableStream) : null, {
            status: statusCode,
            headers: pairs,
          }),
        );
      },
    );
    outgoing.on('error', reject);
    if (request.body === null) outgoing.end();
    else Readable.fromWeb(request.body as unknown as NodeReadableStream).pipe(outgoing);
  });
}
