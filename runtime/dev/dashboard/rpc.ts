// The mock server's routes: bindings for code outside an isolate. All routes lead to `/rpc`, whose call runs in an
// isolate (core/rpc/worker.mjs).
import { Readable } from 'node:stream';
import { bindings, kinds } from '#core/bindings/kinds.ts';
import { PlatformError } from '#core/errors.ts';
import { invalid } from '../../engine/bindings/arguments.ts';
import { answered, deploymentOf, notFound, type DashboardRequest, type Route } from './api.ts';

const methodPattern = /^[A-Za-z][A-Za-z0-9]{0,63}$/;
const statementMethods: readonly unknown[] = ['all', 'first', 'run', 'raw'];

/**
 * Refuses requests without the token, because pages of other sites and other users of this machine can reach the port
 * as well.
 */
function authorize({ deps, request }: DashboardRequest): void {
  if (!isLoopback(request.socket.remoteAddress ?? ''))
    throw new PlatformError('dashboard_forbidden', { reason: 'only programs on this machine may call bindings' });
  if (!deps.isAuthorized(request.headers.authorization)) throw new PlatformError('mock_server_unauthorized');
}

const isLoopback = (address: string): boolean => /^(?:::ffff:)?127\.|^::1$/.test(address);

/** Passes a call on unchanged, with bodies streamed both ways. */
function pass(asked: DashboardRequest): typeof answered {
  authorize(asked);
  deploymentOf(asked);
  const { request, response, deps } = asked;
  const headers = Object.entries(request.headers).filter(
    (header): header is [string, string] => typeof header[1] === 'string' && PASSED_HEADERS.includes(header[0]),
  );
  const method = request.method as 'GET' | 'POST';
  deps.rpc({ method, headers: Object.fromEntries(headers), body: method === 'GET' ? null : request }, response);
  return answered;
}

const PASSED_HEADERS = ['accept', 'content-type', 'x-platform-call'];

function call(asked: DashboardRequest, request: unknown): typeof answered {
  const headers = { 'content-type': 'application/json' };
  asked.deps.rpc(
    { method: 'POST', headers, body: Readable.from([Buffer.from(JSON.stringify(request))]) },
    asked.response,
  );
  return answered;
}

/** Finds the named binding, or the only one of its kind. */
function bindingOf(asked: DashboardRequest, kind: string, given: unknown): string {
  const names = Object.keys(deploymentOf(asked).manifest.bindings[kind] ?? {});
  if (given === undefined && names.length === 1) return names[0] as string;
  if (typeof given === 'string' && names.includes(given)) return given;
  if (names.length === 0) throw notFound(`platform.yaml declares no ${kind} binding`);
  throw invalid(`binding must be one of ${names.join(', ')}`);
}

/** Calls a method of a binding of this kind: `{binding?, args?}`. */
const kindRoute = (kind: string): Route => [
  'POST',
  `/${kind}/:method`,
  async (asked) => {
    authorize(asked);
    const { binding, args = [] } = await asked.body();
    const { method } = asked.params;
    if (!methodPattern.test(method as string))
      throw new PlatformError('bad_request', { reason: 'The name of the method is not valid' });
    if (!Array.isArray(args)) throw invalid('args must be a list');
    return call(asked, { binding: bindingOf(asked, kind, binding), method, args });
  },
];

export const rpcRoutes: readonly Route[] = [
  ['GET', '/health', () => ({ status: 'ok' })],
  ['GET', '/rpc', pass],
  ['POST', '/rpc', pass],
  /** Runs SQL: `{binding?, sql, params?, method?}`, or `{statements: {sql, params?}[]}` in one transaction. */
  [
    'POST',
    '/db',
    async (asked) => {
      authorize(asked);
      const { binding, sql, params = [], method = 'all', statements } = await asked.body();
      const name = bindingOf(asked, 'db', binding);
      if (statements !== undefined) return call(asked, { binding: name, method: 'batch', args: [statements] });
      if (typeof sql !== 'string') throw invalid('sql must be a text');
      if (!Array.isArray(params)) throw invalid('params must be a list');
      if (method === 'exec') return call(asked, { binding: name, method, args: [sql] });
      if (!statementMethods.includes(method)) throw invalid('method must be all, first, run, raw or exec');
      return call(asked, {
        binding: name,
        method: 'prepare',
        args: [sql],
        next: [{ method: 'bind', args: params }, { method }],
      });
    },
  ],
  ...kinds.filter((kind) => bindings[kind].isPlain).map(kindRoute),
];
