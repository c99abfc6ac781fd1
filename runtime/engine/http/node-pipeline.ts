// The exchanges of one connection on node:http, in the order of its requests, because a client may send requests before
// earlier ones are answered. Used by listener-node.ts, node-exchange.ts and node-connections.ts. Allocates nothing.
import type { Socket } from 'node:net';

/** An exchange, as its connection sees it. */
interface PipelinedExchange {
  /** The exchange of the following request, while both have no complete response. */
  next: PipelinedExchange | null;
  /** Whether the request's body is still arriving. */
  readonly incomplete: boolean;
  /** Whether the response has begun. */
  readonly begun: boolean;
  /** Called when the connection has ended, or the rest of the request is malformed. */
  abort(): void;
  /** Makes the connection end with this response. */
  endConnection(): void;
}

/** State of a connection, independent of its requests. */
export interface NodeConnection {
  readonly socket: Socket;
  readonly remoteAddress: string;
  /** The oldest exchange without a complete response. Pipelined exchanges follow through `next`. */
  first: PipelinedExchange | null;
  /** Number of exchanges without a complete response. */
  pending: number;
  /** The latest exchange, answered or not; null if there is none. */
  newest: PipelinedExchange | null;
  /** Whether an error response or a close is in progress, so that further requests are not accepted. */
  closing: boolean;
  /** Whether the exchange has become a WebSocket. */
  upgraded: boolean;
}

/** State of a new connection. */
export function newConnection(socket: Socket): NodeConnection {
  return {
    socket,
    remoteAddress: plainAddress(socket.remoteAddress ?? ''),
    first: null,
    pending: 0,
    newest: null,
    closing: false,
    upgraded: false,
  };
}

/** Converts IPv4 addresses of a dual-stack socket to plain IPv4. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}

/** Adds the exchange of a new request. */
export function joinConnection(connection: NodeConnection, exchange: PipelinedExchange): void {
  let last = connection.first;
  if (last === null) connection.first = exchange;
  else {
    while (last.next !== null) last = last.next;
    last.next = exchange;
  }
  connection.newest = exchange;
  connection.pending++;
}

/** Removes an exchange whose response is complete, or will never be. */
export function leaveConnection(connection: NodeConnection, exchange: PipelinedExchange): void {
  if (connection.first === exchange) connection.first = exchange.next;
  else
    for (let other = connection.first; other !== null; other = other.next)
      if (other.next === exchange) other.next = exchange.next;
  exchange.next = null;
  if (--connection.pending <= 0) connection.newest = null;
}
