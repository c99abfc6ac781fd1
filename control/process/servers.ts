// The listeners of the API process. WebSockets are only accepted on the API's own port, with a token.
import { serveHttp, type HttpServer } from '#core/process/serve-http.ts';
import { serveSockets } from '#resources/socket-server.ts';

/** Port 0 picks a free one. */
type Address = { readonly host: string; readonly port: number } | { readonly socket: string };

type ApiServerOptions = Address & {
  /** The variable that sets the address, for errors. Default: `API_PORT`. */
  readonly variable?: 'API_PORT' | 'API_WEB_LISTEN';
  readonly fetch: (request: Request) => Response | Promise<Response>;
};

/** Listens; rejects with advice if the port is in use. */
export function serveApi(options: ApiServerOptions): Promise<HttpServer> {
  if ('socket' in options) return serveHttp(options);
  const { variable = 'API_PORT' } = options;
  // The web process forwards no WebSockets, because browsers send its session cookie from pages of any origin.
  return serveHttp({ ...options, variable, ...(variable === 'API_PORT' && { serveSockets }) });
}
