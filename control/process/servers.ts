// The public listeners of the API process, over srvx: bounded headers and bodies, idle connections closed after 5 s.
import type { AddressInfo, Server } from 'node:net';
import { serve } from 'srvx/node';

/** An open listener. */
interface ApiServer {
  readonly port: number;
  close(): Promise<void>;
}

interface ApiServerOptions {
  /** That sets the port, for the error; `API_PORT` by default. */
  readonly variable?: 'API_PORT' | 'UI_PORT';
  /** 0: a free one. */
  readonly port: number;
  readonly host: string;
  readonly fetch: (request: Request) => Response | Promise<Response>;
}

const IDLE_MS = 5000;
const HEADERS_MS = 10_000;
const HEADER_BYTES_MAX = 64 * 1024;

/** Listens; rejects with what to do when the port is taken. */
export async function serveApi({ variable = 'API_PORT', port, host, fetch }: ApiServerOptions): Promise<ApiServer> {
  const server = serve({
    port,
    hostname: host,
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
  try {
    await server.ready();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new Error(`Port ${port} is taken: stop what listens there, or set ${variable}`, { cause: error });
  }
  return {
    port: ((server.node!.server as Server).address() as AddressInfo).port,
    close: () => server.close(true),
  };
}
