// The origin of `AUTH_URL` for tests where no process web/ is wanted: serves a built dashboard as dashboard/README.md
// says, and passes `/api/*` on to what signs people in.
import { readFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import path from 'node:path';
import { PAGE_HEADERS } from '#dashboard/build/page-headers.ts';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** An open front. */
export interface DashboardFront {
  close(): Promise<void>;
}

/** @param folder of the built dashboard. @param api where `/api/*` goes: a port of this machine. */
export async function openFront(folder: string, port: number, api: number): Promise<DashboardFront> {
  const server = createServer((asked, response) => {
    const { pathname } = new URL(asked.url ?? '/', 'http://front');
    if (pathname.startsWith('/api/')) passOn(asked, response, api);
    else void sendFile(folder, pathname, response);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function passOn(asked: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, url, headers } = asked;
  const sent = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(response);
  });
  sent.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
  response.on('close', () => sent.destroy());
  asked.pipe(sent);
}

async function sendFile(folder: string, pathname: string, response: ServerResponse): Promise<void> {
  const isAsset = /^\/assets\/[\w.-]+$/.test(pathname);
  const file = isAsset ? pathname : '/index.html';
  try {
    const bytes = await readFile(path.join(folder, file));
    const type = types[path.extname(file)] ?? 'application/octet-stream';
    response.writeHead(200, {
      ...(isAsset ? { 'cache-control': 'public, max-age=31536000, immutable' } : PAGE_HEADERS),
      'content-type': type,
    });
    response.end(bytes);
  } catch {
    response.writeHead(404).end();
  }
}
