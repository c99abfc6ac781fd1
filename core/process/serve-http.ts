// A listener over srvx: bounded headers, idle connections closed after 5 s. Called by the API process and the AI
// gateway, on a port or a Unix socket.
import { chmodSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FastResponse, serve } from 'srvx/node';
import { closeIdleLate } from './late-close.ts';

type Fetch = (request: Request) => Response | Promise<Response>;

/** An open listener. */
export interface HttpServer {
  /** 0 on a Unix socket. */
  readonly port: number;
  /** Takes no connection any more; resolves when the last one has ended. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** Port 0: a free one. The variable sets the port, for the error. */
type Address =
  | { readonly host: string; readonly port: number; readonly variable: string }
  | { readonly socket: string };

type HttpServerOptions = Address & {
  readonly fetch: Fetch;
  /** Opens WebSockets there too; gives what ends all of them. Default: none. */
  readonly serveSockets?: (over: { readonly server: Server; readonly fetch: Fetch }) => () => void;
};

const IDLE_MS = 5000;
const HEADERS_MS = 10_000;
/** Who finds it full is refused at once on a Unix socket, rather than asked to wait. */
const BACKLOG = 4096;
const HEADER_BYTES_MAX = 64 * 1024;

/** A class of answers that go out as they are where they are whole: a stream of the web each is a fifth of a call. */
export const ServedResponse = FastResponse as unknown as typeof Response;

/** Listens; rejects with what to do when the port is taken. */
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
      // Node closes so much later than it says.
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
    // Left by a process that was killed.
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
