// Notifies pages of `platform dev` that their content is out of date, by server-sent events on the project's own
// port. Made by dev.ts.
import { randomBytes } from 'node:crypto';
import type { Exchange } from '../../engine/http/listener.ts';

/** Path to which pages with an error listen. */
export const changesPath = '/_platform/dev/changes';

/** A stream of version numbers. */
export interface ChangeStream {
  /** An id that differs in every run. */
  readonly version: string;
  /** Starts the next version and notifies listeners. */
  advance(): void;
  serve(exchange: Exchange): void;
  close(): void;
}

/** Maximum number of listeners. A browser opens one per page; the oldest page must reconnect. */
const LISTENERS_MAX = 64;

export function createChangeStream(): ChangeStream {
  const run = randomBytes(6).toString('hex');
  let number = 0;
  const listeners = new Set<Exchange>();
  const version = (): string => `${run}-${number}`;
  return {
    get version() {
      return version();
    },
    advance() {
      number++;
      for (const exchange of listeners) exchange.write(`data: ${version()}\n\n`);
    },
    serve(exchange) {
      const onAbort = (): void => void listeners.delete(exchange);
      exchange.onAbort = onAbort;
      exchange.begin(
        200,
        'content-type\0text/event-stream\0cache-control\0no-store\0x-content-type-options\0nosniff\0',
      );
      if (exchange.method === 'HEAD') {
        exchange.end();
        return;
      }
      exchange.write(`retry: 500\ndata: ${version()}\n\n`);
      listeners.add(exchange);
      const [oldest] = listeners;
      if (listeners.size <= LISTENERS_MAX || oldest === undefined) return;
      listeners.delete(oldest);
      oldest.end();
    },
    close() {
      for (const exchange of listeners) exchange.end();
      listeners.clear();
    },
  };
}
