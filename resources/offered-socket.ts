// A request that may become a WebSocket, as routes see it: a route takes the offer and answers with any good status,
// and whoever serves it (socket-server.ts) opens the socket then. A failure is answered as to any other request.
import type { WebSocket } from 'ws';

/** What a route does with the socket. It is closed when this settles. */
export type Talk = (socket: WebSocket) => Promise<void>;

interface Offer {
  take(talk: Talk): void;
}

const OFFER = Symbol('a WebSocket that may be opened');

/** Marks a request. @returns what the route has taken it for, once it has answered. */
export function offerSocket(request: Request): () => Talk | null {
  let taken: Talk | null = null;
  Object.defineProperty(request, OFFER, { value: { take: (talk) => void (taken = talk) } satisfies Offer });
  return () => taken;
}

/** @returns false: the request asks for no WebSocket. */
export function takeSocket(request: Request, talk: Talk): boolean {
  const offer = (request as { readonly [OFFER]?: Offer })[OFFER];
  offer?.take(talk);
  return offer !== undefined;
}
