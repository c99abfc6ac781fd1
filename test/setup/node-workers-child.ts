// The process of node-workers.ts: an HTTP server that gives requests to workers, as an adapter of a framework for Node
// does, and their bindings with them.
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { format } from 'node:util';
import type { Address } from '#packages/dev/connection.ts';
import { connect } from '#packages/dev/env.ts';
import { answerEvents, type EventHandlers } from '#packages/dev/events.ts';
import type { NodeWorker, SaidByWorkers } from './node-workers.ts';

interface Worker extends EventHandlers {
  fetch(request: Request, env: object, context: object): Response | Promise<Response>;
}

interface Served {
  readonly worker: Worker;
  readonly env: object;
  /** The route of its events. */
  readonly events: (request: Request) => Promise<Response>;
}

const running = new AsyncLocalStorage<string>();
const say = (message: SaidByWorkers): void => void process.send?.(message);
for (const level of ['debug', 'info', 'warn', 'error'] as const)
  console[level] = (...values) => say({ project: running.getStore() ?? '', level, text: format(...values) });
console.log = console.info;

const served = new Map<string, Served>();
process.on('message', ({ project, file, url, token }: NodeWorker) => void serve(project, file, { url, token }));

async function serve(project: string, file: string, address: Address): Promise<void> {
  const { default: worker } = (await import(pathToFileURL(file).href)) as { default: Worker };
  const env = await connect(address);
  served.set(project, { worker, env, events: answerEvents(worker, async () => env, address.token) });
  say({ serves: project });
}

async function answer(project: string, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const { worker, env, events } = served.get(project)!;
  const hasBody = message.headers['transfer-encoding'] !== undefined || Number(message.headers['content-length']) > 0;
  const request = new Request(`http://${message.headers.host}${message.url}`, {
    method: message.method!,
    headers: Object.entries(message.headersDistinct).flatMap(([name, values]) =>
      (values ?? []).map((value): [string, string] => [name, value]),
    ),
    ...(hasBody && { body: Readable.toWeb(message) as never, duplex: 'half' }),
  });
  const context = { waitUntil: (promise: Promise<unknown>) => void promise.catch(console.error) };
  const given = await running.run(project, () =>
    message.url!.startsWith('/__platform/') ? events(request) : worker.fetch(request, env, context),
  );
  const cookies = given.headers.getSetCookie();
  response.writeHead(given.status, {
    ...Object.fromEntries(given.headers),
    ...(cookies.length > 0 && { 'set-cookie': cookies }),
  });
  if (given.body === null) response.end();
  else await pipeline(Readable.fromWeb(given.body as never), response);
}

const ports: Record<string, number> = {};
for (const project of process.argv.slice(2)) {
  const server = createServer((message, response) => {
    answer(project, message, response).catch((error: unknown) => {
      if (response.headersSent) return void response.destroy();
      console.error(error);
      response.writeHead(500).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  ports[project] = (server.address() as AddressInfo).port;
}
say({ ports });
process.once('disconnect', () => process.exit());
