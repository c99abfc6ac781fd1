// An engine's private HTTP server: `/_platform/...` on a Unix socket that only the supervisor's processes can reach.
// These routes are never on the public port. main.ts passes the routes.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

// `node:http` is not imported, because an import reads all exports and so loads Node's HTTP client, which costs every
// process 67 ms of CPU.
const { createServer } = process.getBuiltinModule('node:http');

/** Handles one route; an exception becomes a response with status 500. */
type InternalRoute = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;
/** Key of a route: method and path without query, such as `GET /_platform/health`. */
export type InternalRoutes = Readonly<Record<`${'GET' | 'POST'} /_platform/${string}`, InternalRoute>>;

/** @param path the path of the Unix socket. @throws {Error} of the system when the socket cannot be made. */
export async function openInternal(path: string, routes: InternalRoutes): Promise<Server> {
  const table = new Map<string, InternalRoute>(Object.entries(routes));
  const server = createServer((request, response) => {
    const route = table.get(`${request.method} ${request.url?.split('?', 1)[0]}`);
    if (route === undefined) {
      answerJson(response, 404, { error: 'There is no such route', code: 'not_found' });
      return;
    }
    Promise.resolve()
      .then(() => route(request, response))
      .catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else answerJson(response, 500, { error: (error as Error).message, code: 'internal' });
      });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
  return server;
}

export function answerJson(response: ServerResponse, status: number, body: object): void {
  answerText(response, status, JSON.stringify(body));
}

/** @param json an already serialized body. */
export function answerText(response: ServerResponse, status: number, json: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(json);
}
