// What `fetch` knows of the hosts of this platform: those it does not go out for. http/own-hosts.ts passes requests on
// to them. Types only.
import type { Readable } from 'node:stream';
import type { FetchedResponse } from './fetched-response.ts';

/** A request to a host of this platform. */
export interface OwnRequest {
  readonly method: string;
  /** Names in lower case and values, in turn. */
  readonly headers: readonly string[];
  readonly body: Uint8Array | string | Readable | null;
  readonly signal: AbortSignal;
  /** A header of the request that the worker serves meanwhile; null: it has none, or serves another event. */
  readonly received: (name: string) => string | null;
}

/** The hosts of the platform's own domains. */
export interface OwnHosts {
  /** Whether this address is one of a project here. */
  has(target: URL): boolean;
  fetch(target: URL, request: OwnRequest): Promise<FetchedResponse>;
}
