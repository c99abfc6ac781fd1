// A request that may become a WebSocket, as routes see it: a route takes the offer and answers with any good status,
// and whoever serves it (socket-server.ts) opens the socket then. A failure is answered as to any other request.
import type { WebSocket } from 'ws';

/** What a route does with the socket. It is closed when this settles. */
export type Talk = (socket: WebSocket) => Promise<void>;

/** Watches over a socket. @returns what ends that. */
export type Guard = (socket: WebSocket) => () => void;

interface Offer {
  take(talk: Talk): void;
  guard(guard: Guard): void;
}

const OFFER = Symbol('a WebSocket that may be opened');

/** Marks a request. @returns what the route has taken it for, once it has answered. */
export function offerSocket(request: Request): () => Talk | null {
  let taken: Talk | null = null;
  let guard: Guard | null = null;
  const offer: Offer = { take: (talk) => void (taken = talk), guard: (given) => void (guard = given) };
  Object.defineProperty(request, OFFER, { value: offer });
  return () => (taken === null || guard === null ? taken : guarded(taken, guard));
}

function guarded(talk: Talk, guard: Guard): Talk {
  return async (socket) => {
    const end = guard(socket);
    try {
      await talk(socket);
    } finally {
      end();
    }
  };
}

/** Has the socket of a request watched over, where it asks for one and a route takes it. */
export function guardSocket(request: Request, guard: Guard): void {
  (request as { readonly [OFFER]?: Offer })[OFFER]?.guard(guard);
}

/** @returns false: the request asks for no WebSocket. */
export function takeSocket(request: Request, talk: Talk): boolean {
  const offer = (request as { readonly [OFFER]?: Offer })[OFFER];
  offer?.take(talk);
  return offer !== undefined;
}
