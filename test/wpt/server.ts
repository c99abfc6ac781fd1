// Serves the suite's files to the pages of both sides: what a test fetches. Of the suite's own server it knows the
// `pipe` that sets one header, and the script that sends a request's body back.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
  '.png': 'image/png',
  '.txt': 'text/plain',
};

/** A server on a free port of this machine. */
export async function openSuiteServer(folder: string): Promise<{ origin: string; close(): void }> {
  const server = createServer((request, response) => {
    void (async () => {
      const url = new URL(request.url ?? '/', 'http://localhost');
      const path = normalize(decodeURIComponent(url.pathname));
      if (path.endsWith('/echo-content.py')) {
        response.setHeader('content-type', 'text/plain');
        request.pipe(response);
        return;
      }
      const header = /^header\(([^,]+),(.*)\)$/.exec(url.searchParams.get('pipe') ?? '');
      try {
        const body = await readFile(join(folder, path));
        response.setHeader('content-type', types[extname(path)] ?? 'application/octet-stream');
        if (header !== null) response.setHeader(header[1]!, header[2]!);
        response.end(body);
      } catch {
        response.writeHead(404).end();
      }
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
