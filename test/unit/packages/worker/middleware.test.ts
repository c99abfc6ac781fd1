// Middleware of packages/worker: the chain itself, then cors, logger, auth and rateLimit.
import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { auth, cors, HttpError, logger, middleware, platform, rateLimit } from '#packages/worker/index.ts';
import { call, errorsOf } from './call.ts';

test('middleware runs around the routes after it, in order, and sees failures as answers', async () => {
  const order: string[] = [];
  const app = platform()
    .get('/before', () => 'before')
    .use(async (_ctx, next) => {
      order.push('a in');
      const response = await next();
      order.push(`a out ${response.status}`);
      response.headers.set('x-a', '1');
      return response;
    })
    .use(async (_ctx, next) => {
      order.push('b in');
      return next();
    })
    .get('/after', () => 'after')
    .get('/broken', () => {
      throw new HttpError(418, 'teapot');
    })
    .build();
  assert.equal((await call(app, 'GET /before')).headers.get('x-a'), null);
  assert.deepEqual(order, []);
  assert.equal((await call(app, 'GET /after')).headers.get('x-a'), '1');
  const broken = await call(app, 'GET /broken');
  assert.deepEqual([broken.status, broken.headers.get('x-a')], [418, '1']);
  assert.deepEqual(order, ['a in', 'b in', 'a out 200', 'a in', 'b in', 'a out 418']);
  assert.equal((await call(app, 'GET /nowhere')).headers.get('x-a'), '1');
});

test('middleware may answer, throw, add state, and set headers of an answer that came from fetch', async () => {
  const frozen = await fetch('data:text/plain,fetched');
  const app = platform()
    .use((ctx, next) => (ctx.path === '/short' ? ctx.json({ short: true }, 403) : next()))
    .use(middleware<{ tenant: string }>((ctx, next) => ((ctx.state.tenant = 'acme'), next())))
    .use(async (ctx, next) => {
      if (ctx.path === '/thrown') throw new HttpError(402, 'Pay');
      const response = await next();
      response.headers.set('x-b', '2');
      return response;
    })
    .get('/state', (ctx) => ctx.state.tenant)
    .get('/fetched', () => frozen)
    .build();
  assert.deepEqual(
    [(await call(app, 'GET /short')).status, (await call(app, 'GET /short')).json],
    [403, { short: true }],
  );
  assert.equal((await call(app, 'GET /state')).text, 'acme');
  assert.deepEqual((await call(app, 'GET /thrown')).json, { error: 'Pay' });
  const fetched = await call(app, 'GET /fetched');
  assert.deepEqual([fetched.text, fetched.headers.get('x-b')], ['fetched', '2']);
});

test('middleware that answers nothing, or goes on twice, is a failure with a log line that says so', async () => {
  const app = platform()
    .route(
      '/nothing',
      platform()
        .use((() => undefined) as never)
        .get('/', () => 'x'),
    )
    .route(
      '/twice',
      platform()
        .use(async (_ctx, next) => (await next(), next()))
        .get('/', () => 'x'),
    )
    .build();
  const lines = await errorsOf(async () => {
    assert.equal((await call(app, 'GET /nothing')).status, 500);
    assert.equal((await call(app, 'GET /twice')).status, 500);
  });
  assert.match(lines.join('\n'), /Middleware returned no response[^]*called next\(\) twice/);
});

test('cors: simple requests, preflights, lists of origins, failures', async () => {
  const open = platform()
    .use(cors())
    .get('/', () => 'x')
    .build();
  assert.equal(
    (await call(open, 'GET /', { headers: { origin: 'https://a.example' } })).headers.get(
      'access-control-allow-origin',
    ),
    '*',
  );
  const listed = platform()
    .use(cors({ origin: ['https://a.example'], credentials: true, exposeHeaders: ['x-a'], maxAge: 60 }))
    .use(auth({ verify: () => null }))
    .post('/', () => 'x')
    .build();
  const preflight = await call(listed, 'OPTIONS /', {
    headers: {
      origin: 'https://a.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-key',
    },
  });
  assert.equal(preflight.status, 204);
  assert.deepEqual(Object.fromEntries(preflight.headers), {
    'access-control-allow-credentials': 'true',
    'access-control-allow-headers': 'x-key',
    'access-control-allow-methods': 'GET, HEAD, PUT, POST, DELETE, PATCH',
    'access-control-allow-origin': 'https://a.example',
    'access-control-max-age': '60',
    vary: 'Origin, Access-Control-Request-Headers',
  });
  const refused = await call(listed, 'POST /', { headers: { origin: 'https://a.example' } });
  assert.deepEqual(
    [
      refused.status,
      refused.headers.get('access-control-allow-origin'),
      refused.headers.get('access-control-expose-headers'),
    ],
    [401, 'https://a.example', 'x-a'],
  );
  const foreign = await call(listed, 'POST /', { headers: { origin: 'https://b.example' } });
  assert.deepEqual([foreign.headers.get('access-control-allow-origin'), foreign.headers.get('vary')], [null, 'Origin']);
  assert.throws(() => cors({ credentials: true }), /credentials need a list of origins/);
});

test('logger: one line a request, without values of the query or line breaks', async () => {
  const lines: string[] = [];
  const app = platform()
    .use(
      logger({
        write: (line) => lines.push(line.replace(/[\d.]+ ms$/, '_ ms')),
        showQuery: ['page'],
        skip: (ctx) => ctx.path === '/health',
      }),
    )
    .get('/a/:b', () => 'x')
    .get('/health', () => 'ok')
    .build();
  await call(app, 'GET /a/1?page=2&token=secret%0A');
  await call(app, 'GET /health');
  await call(app, 'POST /a/1');
  assert.deepEqual(lines, ['GET /a/1?page=2&token=*** 200 _ ms', 'POST /a/1 405 _ ms']);
});

test('auth: the binding, required or not, with exceptions', async () => {
  const env = {
    PLATFORM_AUTH: {
      getSession: async (request: Request) =>
        request.headers.get('cookie') === 'session=good'
          ? { user: { id: 'u1', email: 'ada@example.org' }, token: 't' }
          : null,
    },
  };
  const app = platform()
    .use(auth({ exclude: ['/open', '/public/*'] }))
    .get('/me', (ctx) => ({ id: ctx.state.user.id, token: ctx.state.session.token }))
    .get('/open', (ctx) => ({ user: ctx.state.user as unknown }))
    .get('/public/x', () => 'x')
    .build();
  const signedIn = { env, headers: { cookie: 'session=good' } };
  assert.deepEqual((await call(app, 'GET /me', signedIn)).json, { id: 'u1', token: 't' });
  const nobody = await call(app, 'GET /me', { env });
  assert.deepEqual(
    [nobody.status, nobody.json, nobody.headers.get('www-authenticate')],
    [401, { error: 'Unauthorized' }, 'Bearer'],
  );
  assert.deepEqual((await call(app, 'GET /open', { env })).json, { user: null });
  assert.equal((await call(app, 'GET /public/x', { env })).status, 200);
  assert.equal((await call(app, 'GET /publicx', { env })).status, 401);
  const lines = await errorsOf(async () => assert.equal((await call(app, 'GET /me')).status, 500));
  assert.match(lines.join('\n'), /PLATFORM_AUTH is not an auth binding/);
  const optional = platform()
    .use(auth({ required: false }))
    .get('/', (ctx) => ({ who: ctx.state.user?.id ?? 'nobody' }))
    .build();
  assert.deepEqual((await call(optional, 'GET /', { env })).json, { who: 'nobody' });
});

function jwt(header: object, claims: object, signer: (text: string) => Buffer): string {
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${signer(text).toString('base64url')}`;
}

test('a list among the options that is none is refused where the middleware is made', () => {
  const refused = (make: () => unknown): string => {
    try {
      make();
    } catch (error) {
      return (error as Error).message;
    }
    return 'taken';
  };
  const wrong = '/public/*' as never;
  assert.equal(
    refused(() => auth({ exclude: wrong })),
    'auth: exclude is a list of paths, such as ["/public/*"]',
  );
  assert.equal(
    refused(() => auth({ exclude: [1] as never })),
    'auth: exclude is a list of paths, such as ["/public/*"]',
  );
  assert.equal(
    refused(() => logger({ showQuery: wrong })),
    'logger: showQuery is a list of names, such as ["page"]',
  );
  assert.equal(
    refused(() => cors({ allowMethods: wrong })),
    'cors: allowMethods is a list of methods, such as ["GET"]',
  );
  for (const name of ['allowHeaders', 'exposeHeaders'])
    assert.equal(
      refused(() => cors({ [name]: wrong })),
      `cors: ${name} is a list of names of headers, such as ["x-total"]`,
    );
  assert.equal(
    refused(() => cors({ origin: { 0: 'https://app.example' } as never })),
    'cors: origin is a list of origins, such as ["https://app.example"], one of them, or a function',
  );
  assert.equal(
    refused(() => [auth({ exclude: [] }), cors(), cors({ origin: 'https://a.example' }), logger()]),
    'taken',
  );
});

test('auth: bearer tokens with a secret; every forgery is 401', async () => {
  const { createHmac } = await import('node:crypto');
  const secret = 'a secret of at least 32 bytes, really';
  const hs = (key: string) => (text: string) => createHmac('sha256', key).update(text).digest();
  const now = Math.floor(Date.now() / 1000);
  const claims = { sub: 'u1', iss: 'me', aud: ['api'], exp: now + 60 };
  const app = platform()
    .use(auth({ bearer: { secret: (env: { KEY: string }) => env.KEY, issuer: 'me', audience: 'api' } as never }))
    .get('/', (ctx) => ({ id: ctx.state.user.id, sub: ctx.state.session.claims?.sub }))
    .build();
  const ask = async (token: string) =>
    (await call(app, 'GET /', { env: { KEY: secret }, headers: { authorization: `Bearer ${token}` } })).status;
  const good = jwt({ alg: 'HS256' }, claims, hs(secret));
  assert.deepEqual(
    (await call(app, 'GET /', { env: { KEY: secret }, headers: { authorization: `Bearer ${good}` } })).json,
    {
      id: 'u1',
      sub: 'u1',
    },
  );
  const forged = {
    'another key': jwt({ alg: 'HS256' }, claims, hs('another secret of 32 bytes, really!')),
    'alg none': jwt({ alg: 'none' }, claims, () => Buffer.alloc(0)),
    'no signature': `${good.split('.').slice(0, 2).join('.')}.`,
    'another alg': jwt({ alg: 'HS512' }, claims, hs(secret)),
    expired: jwt({ alg: 'HS256' }, { ...claims, exp: now - 60 }, hs(secret)),
    'not yet': jwt({ alg: 'HS256' }, { ...claims, nbf: now + 600 }, hs(secret)),
    'exp is a text': jwt({ alg: 'HS256' }, { ...claims, exp: '9999999999' }, hs(secret)),
    'another issuer': jwt({ alg: 'HS256' }, { ...claims, iss: 'you' }, hs(secret)),
    'another audience': jwt({ alg: 'HS256' }, { ...claims, aud: 'web' }, hs(secret)),
    critical: jwt({ alg: 'HS256', crit: ['x'] }, claims, hs(secret)),
    changed: good.replace(
      /\.[^.]+\./,
      `.${Buffer.from(JSON.stringify({ ...claims, sub: 'root' })).toString('base64url')}.`,
    ),
    nonsense: 'a.b.c',
    long: `${'a'.repeat(20_000)}.b.c`,
  };
  for (const [name, token] of Object.entries(forged)) assert.equal(await ask(token), 401, name);
  assert.throws(() => auth({ bearer: {} }), /either a secret or a jwks/);
});

test('auth: bearer tokens with a key set, which is asked again for a key it did not have', async () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ed = generateKeyPairSync('ed25519');
  let asked = 0;
  const keys = [
    { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'r', alg: 'RS256', use: 'sig' },
    { ...ec.publicKey.export({ format: 'jwk' }), kid: 'e' },
    { ...ed.publicKey.export({ format: 'jwk' }), kid: 'd' },
  ];
  const server = createServer((_request, response) => {
    asked++;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const jwks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  const app = platform()
    .use(auth({ bearer: { jwks } }))
    .get('/', (ctx) => ctx.state.user.id)
    .build();
  const claims = { sub: 'u1' };
  const tokens = {
    RS256: jwt({ alg: 'RS256', kid: 'r' }, claims, (text) => sign('sha256', Buffer.from(text), rsa.privateKey)),
    ES256: jwt({ alg: 'ES256', kid: 'e' }, claims, (text) =>
      sign('sha256', Buffer.from(text), { key: ec.privateKey, dsaEncoding: 'ieee-p1363' }),
    ),
    EdDSA: jwt({ alg: 'EdDSA', kid: 'd' }, claims, (text) => sign(null, Buffer.from(text), ed.privateKey)),
  };
  for (const [name, token] of Object.entries(tokens))
    assert.equal((await call(app, 'GET /', { headers: { authorization: `Bearer ${token}` } })).text, 'u1', name);
  const { createHmac } = await import('node:crypto');
  const confused = jwt({ alg: 'HS256', kid: 'r' }, claims, (text) =>
    createHmac('sha256', rsa.publicKey.export({ format: 'pem', type: 'spki' }))
      .update(text)
      .digest(),
  );
  const unknown = jwt({ alg: 'RS256', kid: 'x' }, claims, (text) => sign('sha256', Buffer.from(text), rsa.privateKey));
  for (const token of [confused, unknown])
    assert.equal((await call(app, 'GET /', { headers: { authorization: `Bearer ${token}` } })).status, 401);
  assert.equal(asked, 1);
  server.close();
});

test('auth: where the key set cannot be had the answer is 500, and a token is not taken for a forgery', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const token = jwt({ alg: 'ES256', kid: 'e' }, { sub: 'u1' }, (text) =>
    sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }),
  );
  const answers: [number, Record<string, string>, string][] = [
    [503, {}, 'busy'],
    [200, {}, 'no JSON'],
    [200, {}, '{"keys":7}'],
    [302, { location: 'http://127.0.0.1:1/' }, ''],
    [200, {}, JSON.stringify({ keys: [], more: 'x'.repeat(300_000) })],
  ];
  for (const [status, headers, body] of answers) {
    const server = createServer((_request, response) => void response.writeHead(status, headers).end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const jwks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
    const app = platform()
      .use(auth({ bearer: { jwks } }))
      .get('/', (ctx) => ctx.state.user.id)
      .build();
    const lines = await errorsOf(async () => {
      const answer = await call(app, 'GET /', { headers: { authorization: `Bearer ${token}` } });
      assert.equal(answer.status, 500, `${status} ${body.slice(0, 20)}`);
    });
    assert.equal(lines.length, 1);
    server.close();
  }
});

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

test('middleware sees what the route declares and its parameters before anything is checked', async () => {
  const seen: unknown[] = [];
  const app = platform()
    .use((ctx, next) => {
      seen.push([ctx.route, ctx.routeOptions?.tags ?? null, ctx.params]);
      return next();
    })
    .get(
      '/things/:id',
      { tags: ['things'], params: { type: 'object', properties: { id: { type: 'integer' } } } },
      () => 'a',
    )
    .build();
  assert.equal((await call(app, 'GET /things/x')).status, 400);
  assert.equal((await call(app, 'GET /nowhere')).status, 404);
  assert.deepEqual(seen, [
    ['/things/:id', ['things'], { id: 'x' }],
    [null, null, undefined],
  ]);
});
