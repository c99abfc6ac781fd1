// The server of a provider of models that a test plays: a real socket that keeps what it was asked, counts how often
// each model was, and leaves the answer to the wire that is played.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** What a provider was asked. */
export interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  /** Resolves when the connection's answer is over; whether it was cut off by who asked. */
  readonly closed: Promise<{ readonly isCut: boolean }>;
}

export interface ModelProvider {
  /** With the version. */
  readonly url: string;
  readonly asked: Asked[];
  close(): Promise<void>;
}

/** @param nth how often the model was asked before. */
type ProviderAnswer = (response: ServerResponse, asked: Asked, nth: number) => void;

export async function openProviderServer(
  version: string,
  modelOf: (asked: Asked) => string,
  answer: ProviderAnswer,
): Promise<ModelProvider> {
  const asked: Asked[] = [];
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    const closed = once(response, 'close').then(() => ({ isCut: !response.writableFinished }));
    void json(request).then((value) => {
      const one = { path: request.url!, headers: request.headers, body: value as Record<string, unknown>, closed };
      asked.push(one);
      const model = modelOf(one);
      const nth = counts.get(model) ?? 0;
      counts.set(model, nth + 1);
      answer(response, one, nth);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/${version}`,
    asked,
    async close() {
      const ended = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await ended;
    },
  };
}

export function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
}

export function answerJson(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Bytes one by one, each in a write of its own. */
export async function trickle(response: ServerResponse, text: string): Promise<void> {
  for (const byte of Buffer.from(text)) {
    response.write(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  response.end();
}
