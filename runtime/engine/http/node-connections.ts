// The connections of the listener on node:http: closes them to make room, to drain, or because their data is not
// HTTP. Used by listener-node.ts.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorMessage, errorTable, type ErrorCode, type ErrorDetails } from '#core/errors.ts';
import type { ListenerOptions } from './listener.ts';
import type { NodeConnection } from './node-pipeline.ts';

// `node:http` is not imported, because an import would also load Node's HTTP client.
const http = process.getBuiltinModule('node:http');

/** Maximum number of connections that are examined to find one that can be closed. */
const LOOKS_MAX = 1000;
/** How long data is still read from a closing connection. */
const LINGER_MS = 1000;

/** A socket of the server, with its connection. */
export type ConnectedSocket = Socket & { connection?: NodeConnection };

/** Stops accepting requests on a connection, which ends when the accepted requests are answered. */
export function closeAfterAnswers(connection: NodeConnection): void {
  connection.closing = true;
  connection.newest?.endConnection();
}

/** Reads for a moment before closing, because a reset while the client is still sending would discard the response. */
export function lingerAtEnd(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
}

/** Called when the parser failed on a connection, or the connection timed out. */
export function refuseConnection(
  limits: ListenerOptions['limits'],
  error: NodeJS.ErrnoException,
  socket: ConnectedSocket,
): void {
  const connection = socket.connection;
  // A preconnected client has sent no request, so it gets no response.
  const unused = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0;
  if (connection === undefined || error.code === 'ECONNRESET' || !socket.writable || unused) {
    socket.destroy();
    return;
  }
  if (connection.closing) return;
  closeAfterAnswers(connection);
  let last = connection.first;
  while (last !== null && last.next !== null) last = last.next;
  if (last !== null && last.incomplete) {
    // The malformed data is in the body of this request.
    const cut = last.begun && connection.first === last;
    last.abort();
    if (cut) {
      socket.destroy();
      return;
    }
  }
  // Earlier requests of the connection are still being answered. `closing` ends the connection after them without an
  // answer to this request, because the client would take an error for the response to an earlier request.
  if (connection.first !== null) return;
  if (socket.writableLength > 0) {
    socket.destroySoon();
    return;
  }
  if (error.code === 'HPE_HEADER_OVERFLOW') answerRaw(socket, 'headers_too_large', { limit: limits.headerBytesMax });
  else if (error.code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    answerRaw(socket, 'body_too_large', { limit: limits.bodyBytesMax });
  else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') answerRaw(socket, 'request_timeout', {});
  else answerRaw(socket, 'bad_request', { reason: 'Malformed HTTP' });
}

/** Sends a response without an exchange, and closes the connection. */
export function answerRaw(socket: Duplex, code: ErrorCode, details: ErrorDetails): void {
  const status = errorTable[code].status;
  const body = `${errorMessage(code, details)}\n`;
  socket.end(
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\ncontent-type: text/plain;charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  // Without this, a client that is still sending could get a reset instead of the response.
  setTimeout(() => socket.destroy(), 500).unref();
}

/**
 * Makes room for a new connection: closes the oldest connection that never sent a request, or one that waits for its
 * next request. Returns false if all connections are busy.
 */
export function closeOldestIdle(sockets: ReadonlySet<ConnectedSocket>): boolean {
  let looks = 0;
  let chosen: ConnectedSocket | null = null;
  for (const socket of sockets) {
    if (++looks > LOOKS_MAX) break;
    if (socket.destroyed || socket.connection!.first !== null || socket.connection!.upgraded) continue;
    chosen ??= socket;
    if (socket.bytesWritten > 0) continue;
    chosen = socket;
    break;
  }
  chosen?.destroy();
  return chosen !== null;
}

/** Closes connections without an unanswered request. */
export function closeIdle(sockets: ReadonlySet<ConnectedSocket>): void {
  for (const socket of sockets) {
    if (
      socket.connection!.first === null &&
      !socket.connection!.upgraded &&
      socket.writableLength === 0 &&
      !socket.connection!.closing
    )
      socket.destroySoon();
  }
}

export function destroyAll(sockets: ReadonlySet<ConnectedSocket>): void {
  for (const socket of sockets) socket.destroy();
}
