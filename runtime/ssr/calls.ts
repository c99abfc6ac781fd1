// The socket on which one server calls its bindings. The socket identifies the server, requires the token of this
// process, and forwards calls to an engine, where the deployment's worker executes them in its isolate. Requests to the
// AI gateway also arrive here (from egress.ts), and need the gateway's own token. Made per server.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { chmodSync } from 'node:fs';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import path from 'node:path';
import { SERVER_KEY_HEADER, type ServerSpec } from '#core/ssr/protocol.ts';
import type { OpenCalls } from './server-process.ts';

/** @param engines returns the sockets of connected engines */
export async function openCalls(
  folder: string,
  { key }: ServerSpec,
  engines: () => readonly string[],
): Promise<OpenCalls> {
  const token = randomBytes(32).toString('hex');
  const wanted = digest(`Bearer ${token}`);
  const server = http.createServer({ requestTimeout: 0 }, (request, response) => {
    const isForGateway = /^\/ai(?:[/?]|$)/.test(request.url ?? '');
    if (!isForGateway && !timingSafeEqual(digest(request.headers.authorization ?? ''), wanted))
      return refuse(response, 401, 'Calls require the token PLATFORM_MOCK_SERVER_TOKEN');
    const [socketPath] = engines();
    if (socketPath === undefined || socketPath === '')
      return refuse(response, 503, 'No engine is available for calls at the moment');
    pass(request, response, socketPath, isForGateway, key);
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  const file = path.join(folder, 'calls.sock');
  await new Promise<void>((resolve, reject) => void server.once('error', reject).listen(file, resolve));
  chmodSync(file, 0o666);
  return {
    socket: file,
    variables: { PLATFORM_MOCK_SERVER_URL: `unix:${file}`, PLATFORM_MOCK_SERVER_TOKEN: token },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function pass(
  request: IncomingMessage,
  response: ServerResponse,
  socketPath: string,
  isForGateway: boolean,
  key: string,
): void {
  const headers: http.OutgoingHttpHeaders = { ...request.headers, [SERVER_KEY_HEADER]: key };
  if (!isForGateway) delete headers['authorization'];
  const onward = http.request({
    socketPath,
    method: request.method,
    path: request.url,
    headers,
  });
  onward.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
    answer.once('error', () => response.destroy());
  });
  onward.once('error', () => (response.headersSent ? response.destroy() : refuse(response, 503, 'The engine ended')));
  response.once('close', () => onward.destroy());
  request.pipe(onward);
}

function refuse(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
