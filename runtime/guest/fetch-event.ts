// Workers of the older kind: `addEventListener('fetch', (event) => event.respondWith(...))` instead of a default export.
import type { ExecutionContext } from './execution-context.ts';

type Listener = (event: FetchEvent) => unknown;

const listeners: Listener[] = [];

/** Takes a listener of the global `addEventListener`; false when it is not for `fetch`. */
export function addFetchListener(type: unknown, listener: unknown): boolean {
  if (type !== 'fetch') return false;
  if (typeof listener === 'function') listeners.push(listener as Listener);
  else if (listener !== null && typeof listener === 'object')
    listeners.push((event) => (listener as { handleEvent: Listener }).handleEvent(event));
  return true;
}

/** What such a listener gets. */
export class FetchEvent {
  readonly type = 'fetch';
  readonly request: unknown;
  #context: ExecutionContext;
  #response: unknown = undefined;
  #responded = false;

  constructor(request: unknown, context: ExecutionContext) {
    this.request = request;
    this.#context = context;
  }

  respondWith(response: unknown): void {
    if (this.#responded) throw new Error('respondWith() was called twice for one event');
    this.#responded = true;
    this.#response = response;
  }

  waitUntil(promise: unknown): void {
    this.#context.waitUntil(promise);
  }

  passThroughOnException(): void {
    this.#context.passThroughOnException();
  }

  static responseOf(event: FetchEvent): unknown {
    return event.#response;
  }
}

/** The listeners as one `fetch` handler; null when there are none. */
export function fetchListener(): ((request: unknown, env: unknown, context: unknown) => unknown) | null {
  if (listeners.length === 0) return null;
  return (request, _env, context) => {
    const event = new FetchEvent(request, context as ExecutionContext);
    for (const listener of listeners) listener(event);
    return FetchEvent.responseOf(event);
  };
}
