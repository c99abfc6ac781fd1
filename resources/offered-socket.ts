// Requests that may become WebSockets. If a route accepts the socket and returns a response with a success status,
// socket-server.ts opens the socket. Errors are returned as for any other request.
import type { WebSocket } from 'ws';

/** Uses the socket. The socket is closed when the promise settles. */
type Talk = (socket: WebSocket) => Promise<void>;

/** Watches a socket. @returns a function that stops watching. */
type Guard = (socket: WebSocket) => () => void;

interface Offer {
  take(talk: Talk): void;
  guard(guard: Guard): void;
}

const OFFER = Symbol('a WebSocket that may be opened');

/**
 * Marks a request as a possible WebSocket. @returns a function that, called after the response, returns what the route
 * runs on the socket; null if the route does not use it.
 */
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

/** Adds a guard to a WebSocket request, used if a route takes the socket. */
export function guardSocket(request: Request, guard: Guard): void {
  (request as { readonly [OFFER]?: Offer })[OFFER]?.guard(guard);
}

/** @returns false if the request is not a WebSocket request. */
export function takeSocket(request: Request, talk: Talk): boolean {
  const offer = (request as { readonly [OFFER]?: Offer })[OFFER];
  offer?.take(talk);
  return offer !== undefined;
}
