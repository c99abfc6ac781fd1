// The listeners of the API process, over srvx: bounded headers and bodies, idle connections closed after 5 s. Whoever
// has a port of its own may open WebSockets there, with a token.
import { chmodSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FastResponse, serve } from 'srvx/node';
import { closeIdleLate } from '#core/process/late-close.ts';
import { serveSockets } from '#resources/socket-server.ts';

/** An open listener. */
interface ApiServer {
  /** 0 on a Unix socket. */
  readonly port: number;
  /** Takes no connection any more; resolves when the last one has ended. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** Port 0: a free one. */
type Address = { readonly host: string; readonly port: number } | { readonly socket: string };

type ApiServerOptions = Address & {
  /** That sets the address, for the error; `API_PORT` by default. */
  readonly variable?: 'API_PORT' | 'API_WEB_LISTEN';
  readonly fetch: (request: Request) => Response | Promise<Response>;
};

const IDLE_MS = 5000;
const HEADERS_MS = 10_000;
/** Who finds it full is refused at once on a Unix socket, rather than asked to wait. */
const BACKLOG = 4096;
const HEADER_BYTES_MAX = 64 * 1024;

/** A class of answers that go out as they are where they are whole: a stream of the web each is a fifth of a call. */
export const ServedResponse = FastResponse as unknown as typeof Response;

/** Listens; rejects with what to do when the port is taken. */
export async function serveApi(options: ApiServerOptions): Promise<ApiServer> {
  const { variable = 'API_PORT', fetch } = options;
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
  const drain = (): Promise<void> => new Promise((resolve) => node.close(() => resolve()));
  if ('socket' in options) {
    // Left by a process that was killed.
    rmSync(options.socket, { force: true });
    await new Promise<void>((resolve, reject) =>
      node.once('error', reject).listen({ path: options.socket, backlog: BACKLOG }, resolve),
    );
    chmodSync(options.socket, 0o600);
    return { port: 0, drain, close: () => server.close(true) };
  }
  // Not over the web process: its pages are known by a cookie, which browsers send along from anybody's page.
  const endSockets = variable === 'API_PORT' ? serveSockets({ server: node, fetch }) : () => {};
  try {
    await server.ready();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new Error(`Port ${options.port} is taken: stop what listens there, or set ${variable}`, { cause: error });
  }
  return {
    port: (node.address() as AddressInfo).port,
    drain,
    close() {
      endSockets();
      return server.close(true);
    },
  };
}
