// A public listener of the web process: bounded headers, idle connections closed after 5 s. Each request is answered by
// what the caller gives, and a failure of that ends its connection alone.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { closeIdleLate } from '#core/process/late-close.ts';

/** An open listener. */
export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

interface ListenerOptions {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** That sets the port, for the error. */
  readonly variable: 'UI_PORT' | 'DOCS_PORT';
  readonly log: Logger;
  readonly answer: (request: IncomingMessage, response: ServerResponse, path: string) => Promise<void>;
}

const IDLE_MS = 5000;
const HEADERS_MS = 10_000;
const HEADER_BYTES_MAX = 64 * 1024;

/** @throws {Error} with what to do, when the port is taken. */
export async function listen({ host, port, variable, log, answer }: ListenerOptions): Promise<Listener> {
  const server = createServer(
    {
      keepAliveTimeout: IDLE_MS,
      // Node closes so much later than it says.
      keepAliveTimeoutBuffer: 0,
      headersTimeout: HEADERS_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
    },
    (request, response) => {
      const { pathname } = new URL(`http://site${request.url!.startsWith('/') ? request.url : '/'}`);
      answer(request, response, pathname).catch((error: unknown) => {
        // Whoever is gone needs no answer.
        if (!request.socket.destroyed) log.error({ err: error, path: pathname }, 'Request failed');
        response.destroy();
      });
    },
  );
  closeIdleLate(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`Port ${port} is taken: stop what listens there, or set ${variable}`, { cause: error })
          : error,
      ),
    );
    server.listen({ host, port }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
