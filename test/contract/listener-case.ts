// What the cases of the listener contract are written with: limits, answers, and the shape of a case. Used only by
// listener.ts and the files of its chapters, listener-*.ts.
import assert from 'node:assert/strict';
import type { Exchange, Listener, ListenerOptions } from '#runtime/engine/http/listener.ts';
import type { connectRaw, RawClient } from './raw-client.ts';

export const limits: ListenerOptions['limits'] = {
  urlBytesMax: 16 * 1024,
  headerBytesMax: 128 * 1024,
  bodyBytesMax: 100_000,
  idleMs: 5000,
};
export const textPlain = 'content-type\0text/plain\0';

/** The handler's answer in most cases: the whole of it at once. */
export function ok(exchange: Exchange): void {
  exchange.send(200, textPlain, 'ok');
}

/** Collects a body as Latin-1 text. */
export function bodyOf(exchange: Exchange): Promise<string> {
  const parts: Buffer[] = [];
  return new Promise((resolve) => {
    exchange.readBody({
      chunk(bytes) {
        parts.push(Buffer.from(bytes));
        return true;
      },
      end: () => resolve(Buffer.concat(parts).toString('latin1')),
    });
  });
}

/** Resolves when the client of an exchange is gone. */
export function aborted(exchange: Exchange): Promise<void> {
  return new Promise((resolve) => (exchange.onAbort = resolve));
}

/** Resolves with the error that a call throws. */
export function thrownBy(call: () => void): { code?: string } | null {
  try {
    call();
    return null;
  } catch (error) {
    return error as { code?: string };
  }
}

/** A listener of a case's own, and connections to it; all are closed after the case. */
export interface Open {
  readonly listener: Listener;
  client(from?: Parameters<typeof connectRaw>[1]): Promise<RawClient>;
}

/** One case: a fact, and how it is shown. */
export type Fact = (
  title: string,
  run: (
    open: (onExchange: (exchange: Exchange) => void, options?: Partial<ListenerOptions>) => Promise<Open>,
  ) => Promise<void>,
) => void;

/** Writes cases of requests that are refused before the handler sees them. */
export function refusedBy(fact: Fact): (title: string, request: string, status: number | readonly number[]) => void {
  return (title, request, status) =>
    fact(title, async (open) => {
      let exchanges = 0;
      const { client } = await open((exchange) => {
        exchanges++;
        ok(exchange);
      });
      const raw = await client();
      raw.send(request);
      const response = await raw.response();
      assert.ok(([] as number[]).concat(status).includes(response.status), `answered ${response.status}`);
      raw.socket.end();
      await raw.closed;
      assert.equal(exchanges, 0);
    });
}
