// The listeners of the API process. Whoever has a port of its own may open WebSockets there, with a token.
import { serveHttp, type HttpServer } from '#core/process/serve-http.ts';
import { serveSockets } from '#resources/socket-server.ts';

/** Port 0: a free one. */
type Address = { readonly host: string; readonly port: number } | { readonly socket: string };

type ApiServerOptions = Address & {
  /** That sets the address, for the error; `API_PORT` by default. */
  readonly variable?: 'API_PORT' | 'API_WEB_LISTEN';
  readonly fetch: (request: Request) => Response | Promise<Response>;
};

/** Listens; rejects with what to do when the port is taken. */
export function serveApi(options: ApiServerOptions): Promise<HttpServer> {
  if ('socket' in options) return serveHttp(options);
  const { variable = 'API_PORT' } = options;
  // Not over the web process: its pages are known by a cookie, which browsers send along from anybody's page.
  return serveHttp({ ...options, variable, ...(variable === 'API_PORT' && { serveSockets }) });
}
