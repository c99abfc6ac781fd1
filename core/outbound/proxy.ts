// An HTTP proxy on the loopback of a sandbox or a build, which curl, git, npm, pip, apt and Node find in their
// variables. The proxy requests each connection from the host, which refuses or opens it (connect.ts). Started inside.
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Address on the loopback of the sandbox or the build. */
const PROXY_PORT = 3128;
const URL_OF_PROXY = `http://127.0.0.1:${PROXY_PORT}`;
const NOT_BY_PROXY = 'localhost,127.0.0.1,::1';

/** Variables by which programs find the proxy. */
export const PROXY_VARIABLES: Readonly<Record<string, string>> = {
  HTTP_PROXY: URL_OF_PROXY,
  HTTPS_PROXY: URL_OF_PROXY,
  http_proxy: URL_OF_PROXY,
  https_proxy: URL_OF_PROXY,
  NO_PROXY: NOT_BY_PROXY,
  no_proxy: NOT_BY_PROXY,
  NODE_USE_ENV_PROXY: '1',
};

const LINE_BYTES_MAX = 1024;

/** @param open requests a connection to `host:port` from the host. */
export function startProxy(open: (target: string) => Duplex): Server {
  const server = createServer((asked, answer) => void pass(asked, answer, open));
  server.on('connect', (asked: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => {});
    void reach(asked.url ?? '', open).then(
      (outside) => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        if (head.length > 0) outside.write(head);
        outside.pipe(client).pipe(outside);
        outside.once('close', () => client.destroy());
        client.once('close', () => outside.destroy());
      },
      (error: Error) => {
        const body = `${error.message}\n`;
        client.end(
          `HTTP/1.1 ${statusOf(error)} No\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
        );
      },
    );
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  // If a program takes the port, it harms only its own sandbox or build.
  server.on('error', () => {});
  return server.listen(PROXY_PORT, '127.0.0.1');
}

/** A plain `http:` request, in absolute form. */
async function pass(asked: IncomingMessage, answer: ServerResponse, open: (target: string) => Duplex): Promise<void> {
  const url = URL.parse(asked.url ?? '');
  try {
    if (url?.protocol !== 'http:') throw new Error('EINVAL This is a proxy: it accepts absolute http: URLs');
    const outside = await reach(`${url.hostname}:${url.port || 80}`, open);
    const { 'proxy-connection': _hop, 'proxy-authorization': _own, ...headers } = asked.headers;
    const path = url.pathname + url.search;
    const passed = request({ createConnection: () => outside as never, method: asked.method, path, headers });
    // `reach()` has paused the socket, and adding a listener does not resume it.
    passed.once('socket', (socket) => socket.resume());
    passed.on('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.once('close', () => passed.destroy());
    asked.pipe(passed);
  } catch (error) {
    answer.writeHead(statusOf(error as Error), { 'content-type': 'text/plain' }).end(`${(error as Error).message}\n`);
  }
}

function statusOf({ message }: Error): number {
  return message.startsWith('EACCES') ? 403 : 502;
}

/** A connection that the host has made. @throws {Error} with the host's line. */
export function reach(target: string, open: (target: string) => Duplex): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const stream = open(target);
    let line = Buffer.alloc(0);
    const fail = (): void => reject(new Error(`ECONNRESET ${target}`));
    const take = (chunk: Buffer): void => {
      line = Buffer.concat([line, chunk]);
      const end = line.indexOf('\n');
      if (end === -1 && line.length < LINE_BYTES_MAX) return;
      stream.off('data', take).off('end', fail).pause();
      if (line.subarray(0, Math.max(0, end)).toString() !== 'ok') {
        stream.destroy();
        return reject(new Error(line.toString().trim()));
      }
      if (line.length > end + 1) stream.unshift(line.subarray(end + 1));
      stream.off('close', fail);
      resolve(stream);
    };
    stream.on('data', take).once('end', fail).once('close', fail).on('error', fail);
  });
}
