// The private port of a dev server: the isolate requests modules that only its running code names, and the engine
// requests files for the worker (`env.ASSETS`).
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { DevEnvironment } from 'vite';

/** Responds to a request for a file as to a browser, with 404 if the file does not exist. */
export type ServeFile = (request: IncomingMessage, response: ServerResponse) => void;

interface ChannelDeps {
  readonly environments: readonly DevEnvironment[];
  readonly serveFile: ServeFile;
  /** Called when running code requests a module. */
  readonly asked: (environment: string, url: string) => void;
}

/** The prefix of the paths of files, which separates them from requests for modules. */
export const FILES_PATH = '/files';
/** Byte limit of a request: the names of a module and its importer. */
const QUESTION_BYTES_MAX = 64 * 1024;

/** Opens the port, on 127.0.0.1. */
export async function openChannel({
  environments,
  serveFile,
  asked,
}: ChannelDeps): Promise<{ readonly url: string; close(): Promise<void> }> {
  const path = `/${randomBytes(24).toString('base64url')}`;
  const files = `${path}${FILES_PATH}`;
  const server = createServer(async (request, response) => {
    const { url = '' } = request;
    if (url.startsWith(`${files}/`)) {
      request.url = url.slice(files.length);
      return serveFile(request, response);
    }
    if (url !== path || Number(request.headers['content-length'] ?? Infinity) > QUESTION_BYTES_MAX) {
      response.writeHead(404).end();
      return;
    }
    const { environment: name, data } = JSON.parse(await text(request)) as { environment: string; data: [string] };
    const environment = environments.find((one) => one.name === name);
    const answer = await environment?.hot.handleInvoke({
      type: 'custom',
      event: 'vite:invoke',
      data: { id: 'send', name: 'fetchModule', data },
    });
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer, (_, value: unknown) => (value instanceof Error ? plain(value) : value)));
    if (answer !== undefined && !('error' in answer)) asked(name, data[0]);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function plain({ name, message, stack }: Error): object {
  return { name, message, stack };
}
