// Workers in the older format: `addEventListener('fetch', (event) => event.respondWith(...))` instead of a default
// export.
import { dispatchTrusted, EventTarget, hasListeners, type Event } from './web/events.ts';
import type { ExecutionContext } from './execution-context.ts';

type Listener = (event: FetchEvent) => unknown;

const listeners: Listener[] = [];

// The global object is an event target for all other events.
const target = new EventTarget();

/** The EventTarget members of the global object. */
export const globalEvents = {
  addEventListener(type: string, listener: unknown, options?: unknown): void {
    if (type !== 'fetch') target.addEventListener(type, listener as never, options as never);
    else if (typeof listener === 'function') listeners.push(listener as Listener);
    else if (listener !== null && typeof listener === 'object')
      listeners.push((event) => (listener as { handleEvent: Listener }).handleEvent(event));
  },
  removeEventListener: (type: string, listener: unknown, options?: unknown): void =>
    target.removeEventListener(type, listener as never, options as never),
  dispatchEvent: (event: Event): boolean => target.dispatchEvent(event),
};

/** Fires `error` or `unhandledrejection` on the global object; true when a listener has handled it. */
export function fireOnGlobal(type: string, make: () => Event): boolean {
  return hasListeners(target, type) && !dispatchTrusted(target, make());
}

/** The event that `fetch` listeners receive. */
class FetchEvent {
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
