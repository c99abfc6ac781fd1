// What a project keeps: state, cached texts, files, users.
import { pipeline } from 'node:stream/promises';
import { fixedLimits } from '#core/limits.ts';
import { invalid, toName } from '../../engine/bindings/arguments.ts';
import {
  answered,
  callBinding,
  countOf,
  deploymentOf,
  notFound,
  opened,
  placeOf,
  type Asked,
  type Route,
} from './api.ts';

const PAGE_MAX = 1000;

const textOf = (query: URLSearchParams, name: string): string | undefined => query.get(name) ?? undefined;

/** A value as JSON: `{value}` for text, `{base64}` for bytes. */
function shown(part: unknown): object {
  return typeof part === 'string' ? { value: part } : { base64: Buffer.from(part as Uint8Array).toString('base64') };
}

function partOf({ value, base64 }: Readonly<Record<string, unknown>>): string | Uint8Array {
  if (typeof value === 'string' && base64 === undefined) return value;
  if (typeof base64 === 'string' && value === undefined && /^[A-Za-z0-9+/]*={0,2}$/.test(base64))
    return new Uint8Array(Buffer.from(base64, 'base64'));
  throw invalid('The body must have value, a text, or base64, bytes in base64');
}

const stateRoutes: readonly Route[] = [
  [
    'GET',
    '/api/state/:b/entries',
    (asked) => {
      const limit = countOf(asked.query, 'limit', { least: 1, most: PAGE_MAX, otherwise: 100 });
      return callBinding(asked, 'state.list', {
        prefix: textOf(asked.query, 'prefix'),
        cursor: textOf(asked.query, 'cursor'),
        limit,
      });
    },
  ],
  [
    'GET',
    '/api/state/:b/entries/:key',
    async (asked) => {
      const place = placeOf(asked, 'state');
      const key = toName(asked.params['key'], 'The key', fixedLimits.state.keyBytesMax);
      const [record] = await opened(asked.parts.stores.state, 'state').get(place, [key], Date.now());
      if (record === null || record === undefined) throw notFound('There is no such entry');
      const { metadata, version, expiresAt, value } = record;
      return {
        key,
        metadata: metadata === null ? null : (JSON.parse(metadata) as unknown),
        version,
        expiresAt,
        ...shown(value),
      };
    },
  ],
  [
    'PUT',
    '/api/state/:b/entries/:key',
    async (asked) => {
      placeOf(asked, 'state');
      const body = await asked.body();
      const { metadata, version, expirationTtl, expiresAt } = body;
      if (expirationTtl != null && !(typeof expirationTtl === 'number' && expirationTtl >= 1))
        throw invalid('expirationTtl must be a number of seconds of at least 1');
      const args = {
        binding: asked.params['b'],
        key: asked.params['key'],
        ...(metadata == null ? {} : { metadata }),
        ...(version === undefined ? {} : { version }),
        ...(expiresAt == null ? {} : { expiresAt }),
        ...(expirationTtl == null ? {} : { expiresInMs: Math.floor(expirationTtl as number) * 1000 }),
      };
      return { written: (await deploymentOf(asked).call('state.put', args, [partOf(body)])).value };
    },
  ],
  [
    'DELETE',
    '/api/state/:b/entries/:key',
    async (asked) => void (await callBinding(asked, 'state.delete', { key: asked.params['key'] })),
  ],
];

const cacheRoutes: readonly Route[] = [
  [
    'GET',
    '/api/cache/:b/entries',
    (asked) => {
      const { namespace, resource } = placeOf(asked, 'cache');
      const limit = countOf(asked.query, 'limit', { least: 1, most: PAGE_MAX, otherwise: 100 });
      // As bindings/cache-values.ts names them.
      const entries = asked.parts.cache.list(namespace, `value [${JSON.stringify(resource)},`, limit);
      return {
        entries: entries.map(({ key, bytes, expiresAt }) => ({
          key: (JSON.parse(key.slice(6)) as string[])[1],
          bytes,
          expiresAt,
        })),
      };
    },
  ],
  [
    'GET',
    '/api/cache/:b/entries/:key',
    async (asked) => {
      placeOf(asked, 'cache');
      const { key } = asked.params;
      const { parts = [] } = await deploymentOf(asked).call('cache.get', { binding: asked.params['b'], key });
      if (parts.length === 0) throw notFound('There is no such entry');
      return { key, value: parts[0] };
    },
  ],
  [
    'DELETE',
    '/api/cache/:b/entries/:key',
    async (asked) => void (await callBinding(asked, 'cache.remove', { key: asked.params['key'] })),
  ],
];

const keyOf = (asked: Asked): string => toName(asked.params['key'], 'The key', fixedLimits.files.keyBytesMax);

/** A file may be a page that somebody uploaded: it is never shown as part of this one. */
const downloadHeaders = {
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const;

const fileRoutes: readonly Route[] = [
  [
    'GET',
    '/api/fs/:b/entries',
    (asked) =>
      callBinding(asked, 'files.list', {
        prefix: textOf(asked.query, 'prefix'),
        cursor: textOf(asked.query, 'cursor'),
        delimiter: asked.query.get('delimiter') ?? '/',
        limit: countOf(asked.query, 'limit', { least: 1, most: PAGE_MAX, otherwise: 200 }),
      }),
  ],
  [
    'GET',
    '/api/fs/:b/entries/:key',
    async (asked) => {
      const store = opened(asked.parts.stores.files, 'fs');
      const key = keyOf(asked);
      const found = await store.get(placeOf(asked, 'fs'), key, { range: null, onlyIf: null });
      if (found === null || found.body === null) throw notFound('There is no such file');
      const name = encodeURIComponent(key.slice(key.lastIndexOf('/') + 1));
      asked.response.writeHead(200, {
        ...downloadHeaders,
        'content-type': found.head.headers.contentType ?? 'application/octet-stream',
        'content-length': found.range.length,
        'content-disposition': `attachment; filename*=UTF-8''${name.replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)}`,
      });
      await pipeline(found.body, asked.response);
      return answered;
    },
  ],
  [
    'PUT',
    '/api/fs/:b/entries/:key',
    async (asked) => {
      const store = opened(asked.parts.stores.files, 'fs');
      const type = asked.request.headers['content-type'];
      const headers = type === undefined || type.length > 256 ? {} : { contentType: type };
      const write = { headers, metadata: {}, onlyIf: null, digests: {}, bytesMax: fixedLimits.files.putBytesMax };
      return store.put(placeOf(asked, 'fs'), keyOf(asked), asked.request, write);
    },
  ],
  [
    'DELETE',
    '/api/fs/:b/entries/:key',
    async (asked) => void (await callBinding(asked, 'files.delete', { keys: [keyOf(asked)] })),
  ],
];

/** The auth binding has no resource: its calls know the project. */
async function callAuth(asked: Asked, name: string, args: Readonly<Record<string, unknown>>): Promise<unknown> {
  const { manifest, call } = deploymentOf(asked);
  if (manifest.bindings['auth'] === undefined) throw notFound('platform.yaml declares no auth');
  return (await call(`auth.${name}`, args)).value;
}

const userRoutes: readonly Route[] = [
  [
    'GET',
    '/api/auth/users',
    (asked) => {
      const limit = countOf(asked.query, 'limit', { least: 1, most: PAGE_MAX, otherwise: 100 });
      return callAuth(asked, 'listUsers', {
        limit,
        cursor: textOf(asked.query, 'cursor'),
        email: textOf(asked.query, 'email'),
      });
    },
  ],
  ['POST', '/api/auth/users', async (asked) => callAuth(asked, 'createUser', await asked.body())],
  [
    'DELETE',
    '/api/auth/users/:id',
    async (asked) => void (await callAuth(asked, 'deleteUser', { id: asked.params['id'] })),
  ],
  [
    'GET',
    '/api/auth/settings',
    (asked) => {
      const { manifest, variables, requiresVerification } = deploymentOf(asked);
      const providers = variables.flatMap((name) => {
        const [, provider] = /^AUTH_([A-Z]+)_CLIENT_ID$/.exec(name) ?? [];
        return provider !== undefined && variables.includes(`AUTH_${provider}_CLIENT_SECRET`)
          ? [provider.toLowerCase()]
          : [];
      });
      return { enabled: manifest.bindings['auth'] !== undefined, providers, requiresVerification };
    },
  ],
];

export const storageRoutes: readonly Route[] = [...stateRoutes, ...cacheRoutes, ...fileRoutes, ...userRoutes];
