// The mock server's routes: what a binding does for a worker, done for code outside an isolate. All of them end in
// `/rpc`, whose call runs in an isolate (core/rpc/worker.mjs).
import { PlatformError } from '#core/errors.ts';
import { invalid } from '../../engine/bindings/arguments.ts';
import { answered, deploymentOf, notFound, type Asked, type Route } from './api.ts';

const methodPattern = /^[A-Za-z][A-Za-z0-9]{0,63}$/;
const statementMethods: readonly unknown[] = ['all', 'first', 'run', 'raw'];

async function call(asked: Asked, request: unknown): Promise<typeof answered> {
  deploymentOf(asked);
  const { status, body } = await asked.parts.rpc(JSON.stringify(request));
  asked.response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(body);
  return answered;
}

/** The binding that is named, or the only one of its kind. */
function bindingOf(asked: Asked, kind: string, given: unknown): string {
  const names = Object.keys(deploymentOf(asked).manifest.bindings[kind] ?? {});
  if (given === undefined && names.length === 1) return names[0] as string;
  if (typeof given === 'string' && names.includes(given)) return given;
  if (names.length === 0) throw notFound(`platform.yaml declares no ${kind} binding`);
  throw invalid(`binding must be one of ${names.join(', ')}`);
}

/** `{binding?, args?}`: a method of a binding of this kind. */
const kindRoute = (kind: string): Route => [
  'POST',
  `/${kind}/:method`,
  async (asked) => {
    const { binding, args = [] } = await asked.body();
    const { method } = asked.params;
    if (!methodPattern.test(method as string))
      throw new PlatformError('bad_request', { reason: 'the method has no valid name' });
    if (!Array.isArray(args)) throw invalid('args must be a list');
    return call(asked, { binding: bindingOf(asked, kind, binding), method, args });
  },
];

export const rpcRoutes: readonly Route[] = [
  ['GET', '/health', () => ({ status: 'ok' })],
  [
    'POST',
    '/rpc',
    async (asked) => {
      const { binding, method, args = [], next = [] } = await asked.body();
      if (typeof binding !== 'string') throw invalid('binding must be a text');
      if (typeof method !== 'string') throw invalid('method must be a text');
      if (!Array.isArray(args) || !Array.isArray(next)) throw invalid('args and next must be lists');
      return call(asked, { binding, method, args, next });
    },
  ],
  /** `{binding?, sql, params?, method?}`, or `{statements: {sql, params?}[]}`, one transaction. */
  [
    'POST',
    '/db',
    async (asked) => {
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
  ...['queue', 'workflow', 'state', 'fs', 'timer', 'cache', 'auth'].map(kindRoute),
];
