// The middleware `rateLimit`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { platform, rateLimit } from '#packages/worker/index.ts';
import { call, errorsOf } from './call.ts';

/** A state binding as far as rateLimit needs one. */
function stateDouble() {
  const values = new Map<string, { n: number }>();
  return {
    values,
    update: async (key: string, change: { $inc: { n: number } }) => {
      values.set(key, { n: (values.get(key)?.n ?? 0) + change.$inc.n });
      return values.get(key);
    },
    get: async (key: string) => values.get(key) ?? null,
  };
}

test('rateLimit: the request over the limit is 429 with Retry-After, and headers say what is left', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000_000_000 });
  const app = platform()
    .use(rateLimit({ limit: 2, window: '1m' }))
    .get('/', () => 'x')
    .build();
  const ask = (ip: string) => call(app, 'GET /', { headers: { 'x-real-ip': ip } });
  const first = await ask('1.1.1.1');
  assert.deepEqual(
    [first.headers.get('ratelimit-policy'), first.headers.get('ratelimit')],
    ['"default";q=2;w=60', '"default";r=1;t=20'],
  );
  assert.equal((await ask('1.1.1.1')).headers.get('ratelimit'), '"default";r=0;t=20');
  const over = await ask('1.1.1.1');
  assert.deepEqual(
    [over.status, over.json, over.headers.get('retry-after')],
    [429, { error: 'Too many requests' }, '20'],
  );
  assert.equal((await ask('2.2.2.2')).status, 200);
  // The window before still counts in part: 3 requests, weighed with the 50 s that are left of a minute.
  t.mock.timers.setTime(1_000_000_030_000);
  assert.equal((await ask('1.1.1.1')).status, 429);
  t.mock.timers.setTime(1_000_000_105_000);
  assert.equal((await ask('1.1.1.1')).status, 200);
});

test('rateLimit: isolates that share a state binding share the count', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000_000_000 });
  const env = { KV: stateDouble() };
  const make = () =>
    platform()
      .use(
        rateLimit({
          limit: 3,
          window: 60,
          store: 'KV',
          algorithm: 'fixed',
          standardHeaders: 'draft-7',
          key: (ctx) => ctx.req.headers.get('x-key') ?? 'none',
        }),
      )
      .get('/', () => 'x')
      .build();
  const isolates = [make(), make()];
  const statuses: number[] = [];
  for (let at = 0; at < 5; at++)
    statuses.push((await call(isolates[at % 2]!, 'GET /', { env, headers: { 'x-key': 'a b' } })).status);
  assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
  assert.deepEqual([...env.KV.values.keys()], ['ratelimit:default:a%20b:16666666']);
  const other = await call(isolates[0]!, 'GET /', { env });
  assert.deepEqual(
    [other.headers.get('ratelimit-policy'), other.headers.get('ratelimit')],
    ['3;w=60', 'limit=3, remaining=2, reset=20'],
  );
  t.mock.timers.setTime(1_000_000_020_000);
  assert.equal((await call(isolates[0]!, 'GET /', { env, headers: { 'x-key': 'a b' } })).status, 200);
  const lines = await errorsOf(async () => assert.equal((await call(isolates[0]!, 'GET /')).status, 500));
  assert.match(lines.join('\n'), /KV is not a state binding/);
});

test('rateLimit: whatever text tells clients apart is a short name in the store', async () => {
  const env = { KV: stateDouble() };
  let key = '';
  const app = platform()
    .use(rateLimit({ limit: 1, window: 60, store: 'KV', key: () => key }))
    .get('/', () => 'x')
    .build();
  for (key of ['x'.repeat(255) + '\u{1f600}', '\ud800', '\u{1f600}'.repeat(200), ''])
    assert.equal((await call(app, 'GET /', { env })).status, 200, JSON.stringify(key.slice(-3)));
  for (const name of env.KV.values.keys()) assert.ok(name.length <= 512, String(name.length));
});

test('rateLimit: skip, message, onLimit and bad settings', async () => {
  const app = platform()
    .route(
      '/a',
      platform()
        .use(rateLimit({ limit: 1, window: '1h', message: 'Slow down', skip: (ctx) => ctx.url.search === '?free' }))
        .get('/', () => 'x'),
    )
    .route(
      '/b',
      platform()
        .use(
          rateLimit({ limit: 1, window: 3600, standardHeaders: false, onLimit: (ctx) => ctx.json({ own: true }, 503) }),
        )
        .get('/', () => 'x'),
    )
    .build();
  for (const path of ['/a', '/b']) assert.equal((await call(app, `GET ${path}`)).status, 200);
  assert.deepEqual((await call(app, 'GET /a')).json, { error: 'Slow down' });
  assert.equal((await call(app, 'GET /a?free')).status, 200);
  const own = await call(app, 'GET /b');
  assert.deepEqual(
    [own.status, own.json, own.headers.get('ratelimit'), own.headers.has('retry-after')],
    [503, { own: true }, null, true],
  );
  assert.throws(() => rateLimit({ limit: 0, window: 1 }), /whole number/);
  assert.throws(() => rateLimit({ limit: 1, window: 0.5 }), /a second or more/);
  assert.throws(() => rateLimit({ limit: 1, window: '5 minutes' as never }), /such as 60 or "1m"/);
});
