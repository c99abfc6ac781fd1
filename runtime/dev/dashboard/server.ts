// The dashboard of `platform dev`, and the mock server on the same port: the page, the API under /api/, and the
// routes for bindings. Opened by dev.ts. Only pages and programs of this machine have access (guard.ts).
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { errorMessage, errorTable, isErrorCode, PlatformError } from '#core/errors.ts';
import { answered, parseObject, type DashboardRequest, type DashboardDeps, type Route } from './api.ts';
import { objectionTo } from './guard.ts';
import { answerWith } from './web-answer.ts';
import { createPage } from './page.ts';
import { createResourceApi, type ResourceApiDeps } from './resource-api.ts';
import { projectRoutes } from './project.ts';
import { rpcRoutes } from './rpc.ts';

// `node:http` is not imported, because an import reads all exports, including the getters that load Node's own HTTP
// client.
const { createServer } = process.getBuiltinModule('node:http');

/** An open dashboard. */
interface Dashboard {
  readonly port: number;
  close(): Promise<void>;
}

const split = [...projectRoutes, ...rpcRoutes].map(([method, path, answer]) => ({
  method,
  segments: path.split('/'),
  answer,
}));
/** Maximum number of connections; each pending call of the mock server has one. */
const CONNECTIONS_MAX = 2000;

/** Opens the port; rejects with the system's error if it is not available. */
export async function openDashboard(
  deps: DashboardDeps & ResourceApiDeps & { readonly ai: ((request: Request) => Promise<Response>) | null },
  address: { readonly host: string; readonly port: number },
): Promise<Dashboard> {
  const page = createPage(process.env);
  const resourceApi = createResourceApi(deps);

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { host, origin } = request.headers;
    const objection = objectionTo(
      {
        host,
        origin,
        site: request.headers['sec-fetch-site'] as string | undefined,
        mode: request.headers['sec-fetch-mode'] as string | undefined,
        localAddress: request.socket.localAddress,
      },
      address.host,
    );
    if (objection !== null) throw new PlatformError('dashboard_forbidden', { reason: objection });
    const url = new URL(`http://dashboard${request.url?.startsWith('/') === true ? request.url : '/'}`);
    if (deps.ai !== null && /^\/ai(?:\/|$)/.test(url.pathname)) return answerWith(deps.ai, request, response);
    const isPage = request.method === 'GET' || request.method === 'HEAD';
    const file = isPage ? await page(url.pathname, isNavigation(request)) : null;
    if (file !== null) {
      response.writeHead(200, file.headers);
      response.end(request.method === 'HEAD' ? '' : file.content);
      return;
    }
    if (isOfResources(url.pathname)) return resourceApi(request.url!.slice('/api'.length), request, response);
    const { answer, params } = find(request.method ?? '', url.pathname);
    const asked: DashboardRequest = {
      deps,
      params,
      query: url.searchParams,
      request,
      response,
      body: () => readObject(request, deps),
    };
    const value = await answer(asked);
    if (value === answered) return;
    if (value === undefined) response.writeHead(204, apiHeaders).end();
    else response.writeHead(200, apiHeaders).end(JSON.stringify(value));
  }

  const server = createServer({ maxHeaderSize: deps.limits.headerBytesMax }, (request, response) => {
    response.on('error', () => {});
    serve(request, response).catch((error: unknown) => fail(error, response, deps));
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.listen(address.port, address.host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Whether a browser navigates to a URL; programs use `/health` of the mock server. */
function isNavigation({ headers }: IncomingMessage): boolean {
  return (headers.accept ?? '').includes('text/html');
}

/** Paths that the control plane also serves (control/api). */
function isOfResources(path: string): boolean {
  return /^\/api\/projects\/[^/]+\/(?!config$)./.test(path);
}

const apiHeaders = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** @throws {PlatformError} `dashboard_not_found`, `method_not_allowed`, `bad_request`. */
function find(method: string, path: string): { answer: Route[2]; params: Record<string, string> } {
  const given = path.split('/');
  let known = false;
  for (const { method: wanted, segments, answer } of split) {
    if (
      segments.length !== given.length ||
      !segments.every((segment, at) => segment.startsWith(':') || segment === given[at])
    )
      continue;
    known = true;
    if (wanted !== method) continue;
    const params: Record<string, string> = {};
    for (const [at, segment] of segments.entries())
      if (segment.startsWith(':')) params[segment.slice(1)] = decode(given[at] as string);
    return { answer, params };
  }
  if (known) throw new PlatformError('method_not_allowed', { method });
  throw new PlatformError('dashboard_not_found', { reason: `Not found: ${path.slice(0, 200)}` });
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new PlatformError('bad_request', { reason: 'The path is not valid' });
  }
}

/** @throws {PlatformError} `bad_request`, `body_too_large`. */
async function readObject(
  request: IncomingMessage,
  { limits }: DashboardDeps,
): Promise<Readonly<Record<string, unknown>>> {
  const limit = limits.dashboardBodyBytesMax;
  const type = request.headers['content-type'];
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > limit) throw new PlatformError('body_too_large', { limit });
    chunks.push(chunk);
  }
  // Even in browsers that send no other headers, a form of another page cannot send this content type.
  if (bytes > 0 && !/^application\/json\s*(?:;|$)/i.test(type ?? ''))
    throw new PlatformError('bad_request', { reason: 'The content type must be application/json' });
  return parseObject(Buffer.concat(chunks));
}

function fail(error: unknown, response: ServerResponse, { log }: DashboardDeps): void {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const known = isErrorCode(code);
  const isOurs = !known || code === 'internal';
  if (isOurs && !response.destroyed)
    log('error', `The dashboard failed: ${error instanceof Error ? error.stack : String(error)}`);
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const shownCode = known ? code : 'internal';
  const { status } = errorTable[shownCode];
  const body = { error: isOurs ? errorMessage('internal') : String(message), code: shownCode };
  // The connection is closed, because unread parts of the request's body stay in it.
  response.writeHead(status, { ...apiHeaders, connection: 'close' }).end(JSON.stringify(body));
}
