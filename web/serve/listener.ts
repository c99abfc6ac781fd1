// A public listener of the web process: limits headers, closes idle connections after 5 s. Calls the given handler for
// each request; an error closes only its connection.
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
  /** 0: a free port. */
  readonly port: number;
  /** Variable of the port, for the error message. */
  readonly variable: 'UI_PORT' | 'DOCS_PORT';
  readonly log: Logger;
  readonly answer: (request: IncomingMessage, response: ServerResponse, path: string) => Promise<void>;
}

const IDLE_MS = 5000;
const HEADERS_MS = 10_000;
const HEADER_BYTES_MAX = 64 * 1024;

/** @throws {Error} with advice, if the port is in use. */
export async function listen({ host, port, variable, log, answer }: ListenerOptions): Promise<Listener> {
  const server = createServer(
    {
      keepAliveTimeout: IDLE_MS,
      // Node adds this to the announced keep-alive timeout.
      keepAliveTimeoutBuffer: 0,
      headersTimeout: HEADERS_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
    },
    (request, response) => {
      const { pathname } = new URL(`http://site${request.url!.startsWith('/') ? request.url : '/'}`);
      answer(request, response, pathname).catch((error: unknown) => {
        // The client has disconnected.
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
          ? new Error(`Port ${port} is already in use: stop the other program, or set ${variable}`, { cause: error })
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
