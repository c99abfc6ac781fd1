// A WebSocket between a visitor and a server. The handshake goes to the server first, which accepts or refuses it. Made
// by server-lane.ts. Loads `ws` on first use.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { handshakeHeaders } from '../http/handshake.ts';
import type { Exchange } from '../http/listener.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import { blockOf } from './proxied-request.ts';

/** Events of the proxied socket. */
interface ProxiedSocketEvents {
  opened(): void;
  /** Called when the server refused the handshake with its own response, whose headers were sent. */
  refused(status: number): void;
  /** Called when the socket is closed, or the refusal was sent. */
  done(): void;
  failed(error: NodeJS.ErrnoException): void;
}

const HANDSHAKE_MS = 30_000;
/** When one side has not received this many bytes, the other side is paused; and how often this is checked. */
const BUFFERED_BYTES_MAX = 1024 * 1024;
const LOOK_MS = 20;

/** A socket with both sides open. */
export interface ProxiedSocket {
  close(code: number, reason: string): void;
  /** Closes it immediately. */
  cut(): void;
}

/** Address of a server for `ws`, and how to connect if the address is not sufficient. */
interface SocketTarget {
  readonly url: string;
  readonly connect?: () => Socket;
}

/** @param headers the headers for the server, names and values alternating */
export async function openProxiedSocket(
  { url, connect }: SocketTarget,
  exchange: Exchange,
  headers: readonly string[],
  messageBytesMax: number,
  events: ProxiedSocketEvents,
): Promise<ProxiedSocket> {
  const [{ WebSocket }, { wireOf, closeOptions }] = await Promise.all([import('ws'), import('../http/websocket.ts')]);
  const offered = handshakeHeaders(exchange.headerBlock)['sec-websocket-protocol'] ?? '';
  const protocols = offered.split(',').map((name) => name.trim());
  const sent: Record<string, string | string[]> = {};
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at]!;
    if (name === 'upgrade' || name.startsWith('sec-websocket-')) continue;
    const before = sent[name];
    sent[name] = before === undefined ? headers[at + 1]! : [before, headers[at + 1]!].flat();
  }
  const inner = new WebSocket(url, protocols.filter(Boolean), {
    headers: sent as Record<string, string>,
    ...(connect === undefined ? {} : { createConnection: connect as never }),
    followRedirects: false,
    handshakeTimeout: HANDSHAKE_MS,
    maxPayload: messageBytesMax,
    perMessageDeflate: false,
    ...closeOptions,
  });
  let isOver = false;
  let block = '';
  /** The visitor's side sends no messages before the server's side is open, because it is opened after it. */
  let outer: SocketWire | null = null;
  const over = (tell: () => void): void => {
    if (isOver) return;
    isOver = true;
    tell();
  };
  inner.once('upgrade', ({ rawHeaders }: IncomingMessage) => {
    const fields = rawHeaders.filter((_, at) => {
      const name = rawHeaders[at - (at % 2)]!.toLowerCase();
      return !name.startsWith('sec-websocket-') || name === 'sec-websocket-protocol';
    });
    block = blockOf(fields);
  });
  inner.once('unexpected-response', (_request, response: IncomingMessage) => {
    try {
      exchange.begin(response.statusCode ?? 502, blockOf(response.rawHeaders));
    } catch (error) {
      response.destroy();
      over(() => events.failed(error as Error));
      return;
    }
    events.refused(response.statusCode ?? 502);
    const onDrain = (): void => void response.resume();
    exchange.onDrain = onDrain;
    response.on('data', (chunk: Buffer) => {
      if (!exchange.write(chunk)) response.pause();
    });
    response.once('close', () => {
      exchange.end();
      over(() => events.done());
    });
  });
  inner.once('error', (error) => {
    if (outer === null) over(() => events.failed(error));
  });
  inner.once('open', () => {
    let toServer: SocketWire | null = null;
    const toVisitor: SocketEvents = {
      message(data) {
        outer?.send(data);
        held(inner, outer);
      },
      failed() {},
      closed(code, reason, clean) {
        if (clean) outer?.close(code, reason);
        else outer?.close(1011, 'The server ended');
      },
    };
    const ofVisitor: SocketEvents = {
      message(data) {
        toServer?.send(data);
        held(outer, toServer);
      },
      failed() {},
      closed(code, reason, clean) {
        if (clean) toServer?.close(code, reason);
        else inner.terminate();
        over(() => events.done());
      },
    };
    exchange.onAbort = null;
    outer = exchange.upgrade(block, ofVisitor);
    if (outer === null) {
      inner.terminate();
      over(() => events.failed(new Error('it answered 101 to a request that is not a WebSocket handshake')));
      return;
    }
    toServer = wireOf(inner, toVisitor, exchange.memory ?? null);
    events.opened();
  });
  return {
    close(code, reason) {
      if (outer === null) inner.terminate();
      else outer.close(code, reason);
    },
    cut: () => inner.terminate(),
  };
}

/** Pauses a sender that is faster than the other side. */
function held(from: { pause(): void; resume(): void } | null, to: { readonly bufferedBytes: number } | null): void {
  if (from === null || to === null || to.bufferedBytes <= BUFFERED_BYTES_MAX) return;
  from.pause();
  const timer = setInterval(() => {
    if (to.bufferedBytes > BUFFERED_BYTES_MAX) return;
    clearInterval(timer);
    from.resume();
  }, LOOK_MS).unref();
}
