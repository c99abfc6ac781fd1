// Platform hosts, which `fetch` serves internally; http/platform-hosts.ts passes the requests on. Types only.
import type { Readable } from 'node:stream';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import type { FetchedResponse } from './fetched-response.ts';

/** A request to a host of this platform. */
export interface PlatformHostRequest {
  readonly method: string;
  /** Lower-case names and values, alternating. */
  readonly headers: readonly string[];
  readonly body: Uint8Array | string | Readable | null;
  readonly signal: AbortSignal;
  /** A header of the request that the worker is serving; null if it lacks the header, or serves another event. */
  readonly received: (name: string) => string | null;
}

/** Opens the caller's socket. @returns the receiver of the socket's events; `attach` attaches the wire. */
export interface SocketOpener {
  open(): SocketEvents & { attach(wire: SocketWire): void };
}

/** A request for a durable object. */
export interface ObjectRequest extends PlatformHostRequest {
  /** Set only if the request is a WebSocket handshake. */
  readonly socket: SocketOpener | null;
}

/** Hosts of the platform's own domains. */
export interface PlatformHosts {
  /** Whether a URL belongs to a project on this platform. */
  has(target: URL): boolean;
  fetch(target: URL, request: PlatformHostRequest): Promise<FetchedResponse>;
}
