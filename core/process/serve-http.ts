// An HTTP listener (srvx) on a port or a Unix socket: headers are limited, idle connections are closed after 5 s.
// Called by the API process and the AI gateway.
import { chmodSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FastResponse, serve } from 'srvx/node';
import { closeIdleLate } from './late-close.ts';

type Fetch = (request: Request) => Response | Promise<Response>;

/** An open listener. */
export interface HttpServer {
  /** The port of the listener; 0 on a Unix socket. */
  readonly port: number;
  /** Accepts no further connections; resolves when the last connection has ended. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Where to listen. Port 0 means any free port. `variable` is the variable that sets the port, which the error names.
 */
type Address =
  | { readonly host: string; readonly port: number; readonly variable: string }
  | { readonly socket: string };

type HttpServerOptions = Address & {
  readonly fetch: Fetch;
  /** Also serves WebSockets on the server; returns a function that ends all of them. Default: none. */
  readonly serveSockets?: (over: { readonly server: Server; readonly fetch: Fetch }) => () => void;
};

const IDLE_MS = 5000;
const HEADERS_MS = 10_000;
/** On a Unix socket, a client is refused immediately when the backlog is full, without waiting. */
const BACKLOG = 4096;
const HEADER_BYTES_MAX = 64 * 1024;

/**
 * Response class whose complete bodies are sent without a web stream, which would take a fifth of the time of a call.
 */
export const ServedResponse = FastResponse as unknown as typeof Response;

/** Starts to listen; if the port is taken, rejects with an error that contains advice. */
export async function serveHttp(options: HttpServerOptions): Promise<HttpServer> {
  const { fetch, serveSockets } = options;
  const server = serve({
    ...('socket' in options ? { manual: true } : { port: options.port, hostname: options.host }),
    fetch,
    silent: true,
    gracefulShutdown: false,
    node: {
      keepAliveTimeout: IDLE_MS,
      headersTimeout: HEADERS_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      // Node adds this time to the advertised timeout.
      keepAliveTimeoutBuffer: 0,
    },
  });
  const node = server.node!.server as Server;
  closeIdleLate(node);
  const endSockets = serveSockets?.({ server: node, fetch });
  const drain = (): Promise<void> => new Promise((resolve) => node.close(() => resolve()));
  const close = (): Promise<void> => {
    endSockets?.();
    return server.close(true);
  };
  if ('socket' in options) {
    // A killed process leaves its socket file behind.
    rmSync(options.socket, { force: true });
    await new Promise<void>((resolve, reject) =>
      node.once('error', reject).listen({ path: options.socket, backlog: BACKLOG }, resolve),
    );
    chmodSync(options.socket, 0o600);
    return { port: 0, drain, close };
  }
  try {
    await server.ready();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new Error(`Port ${options.port} is taken: stop what listens there, or set ${options.variable}`, {
      cause: error,
    });
  }
  return { port: (node.address() as AddressInfo).port, drain, close };
}
