// A call of the mock server, which is a request to Node's server, as an exchange for the handler and the worker of
// core/rpc/worker.mjs. Bodies are streamed both ways. Created by rpc.ts, passed to the handler by open.ts.
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { errorMessage, errorTable } from '#core/errors.ts';
import type { BodySink, Exchange } from '../../engine/http/listener.ts';

/** A call. */
export interface RpcCall {
  readonly method: 'GET' | 'POST';
  /** The headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable | null;
}

const LINGER_MS = 1000;

/** @param bodyBytesMax limit of the request body, above which the response is 413. */
export function createRpcExchange(
  { method, headers, body }: RpcCall,
  response: ServerResponse,
  { host, bodyBytesMax }: { readonly host: string; readonly bodyBytesMax: number },
): Exchange {
  let isOver = false;

  function end(): void {
    isOver = true;
    response.end();
    if (body === null || body.readableEnded) return;
    // The rest of the request is read for a moment, because a reset while the client is still sending would discard the
    // response.
    body.resume();
    const cut = setTimeout(() => response.req.socket.destroy(), LINGER_MS);
    cut.unref();
    body.once('end', () => clearTimeout(cut));
  }

  function abort(): void {
    if (isOver) return;
    isOver = true;
    exchange.onAbort?.();
  }

  function begin(status: number, headerBlock: string): void {
    const block = headerBlock.split('\0');
    const pairs: string[] = [];
    for (let at = 0; at + 1 < block.length; at += 2)
      if (block[at] !== 'connection') pairs.push(block[at]!, block[at + 1]!);
    response.writeHead(status, pairs);
  }

  function pump(from: Readable, sink: BodySink): void {
    let bytes = 0;
    from.on('data', (chunk: Uint8Array) => {
      if (isOver) return;
      bytes += chunk.byteLength;
      if (bytes > bodyBytesMax) {
        response.writeHead(errorTable.body_too_large.status, { connection: 'close' });
        response.end(errorMessage('body_too_large', { limit: bodyBytesMax }));
        abort();
      } else if (!sink.chunk(new Uint8Array(chunk))) from.pause();
    });
    from.once('end', () => !isOver && sink.end());
  }

  const exchange: Exchange = {
    method,
    target: '/',
    host,
    headerBlock: Object.entries(headers)
      .map(([name, value]) => `${name}\0${value}\0`)
      .join(''),
    remoteAddress: '127.0.0.1',
    bodyBytes: body === null ? 0 : -1,
    header: (name) => headers[name] ?? null,
    readBody: (sink) => void (body === null ? queueMicrotask(() => sink.end()) : pump(body, sink)),
    resumeBody: () => void body?.resume(),
    send(status, headerBlock, content) {
      if (isOver) return;
      begin(status, headerBlock);
      if (content !== null) response.write(content);
      end();
    },
    begin(status, headerBlock) {
      if (isOver) return;
      begin(status, headerBlock);
      response.flushHeaders();
    },
    write: (chunk) => isOver || response.write(chunk),
    end: () => void (isOver || end()),
    upgrade: () => null,
    destroy() {
      isOver = true;
      response.destroy();
    },
    requestId: '',
    onAbort: null,
    onDrain: null,
    refusedCookies: '',
    sentBytes: 0,
  };
  response.on('drain', () => exchange.onDrain?.());
  response.on('close', abort);
  return exchange;
}
