// The process of node-workers.ts: an HTTP server that gives requests to workers, as an adapter of a framework for Node
// does, and their bindings with them.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { format } from 'node:util';
import { connect } from '#packages/dev/env.ts';
import type { SaidByWorkers } from './node-workers.ts';

interface Served {
  readonly worker: { fetch(request: Request, env: object, context: object): Response | Promise<Response> };
  readonly env: object;
}

const running = new AsyncLocalStorage<string>();
const say = (message: SaidByWorkers): void => void process.send?.(message);
for (const level of ['debug', 'info', 'warn', 'error'] as const)
  console[level] = (...values) => say({ project: running.getStore() ?? '', level, text: format(...values) });
console.log = console.info;

const served = new Map<string, Served>();
const given = JSON.parse(process.argv[2]!) as { project: string; file: string; url: string; token: string }[];
for (const { project, file, url, token } of given) {
  const { default: worker } = (await import(pathToFileURL(file).href)) as { default: Served['worker'] };
  served.set(project, { worker, env: await connect({ url, token }) });
}

async function answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
  const host = message.headers.host ?? '';
  const project = host.slice(0, host.indexOf('.'));
  const { worker, env } = served.get(project)!;
  const hasBody = message.headers['transfer-encoding'] !== undefined || Number(message.headers['content-length']) > 0;
  const request = new Request(`http://${host}${message.url}`, {
    method: message.method!,
    headers: Object.entries(message.headersDistinct).flatMap(([name, values]) =>
      (values ?? []).map((value): [string, string] => [name, value]),
    ),
    ...(hasBody && { body: Readable.toWeb(message) as never, duplex: 'half' }),
  });
  const context = { waitUntil: (promise: Promise<unknown>) => void promise.catch(console.error) };
  const given = await running.run(project, () => worker.fetch(request, env, context));
  const cookies = given.headers.getSetCookie();
  response.writeHead(given.status, {
    ...Object.fromEntries(given.headers),
    ...(cookies.length > 0 && { 'set-cookie': cookies }),
  });
  if (given.body === null) response.end();
  else await pipeline(Readable.fromWeb(given.body as never), response);
}

const server = createServer((message, response) => {
  answer(message, response).catch((error: unknown) => {
    console.error(error);
    if (response.headersSent) response.destroy();
    else response.writeHead(500).end();
  });
}).listen(0, '127.0.0.1', () => say({ port: (server.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit());
