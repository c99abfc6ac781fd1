// Middleware of packages/worker: the chain itself, then cors, logger, auth and rateLimit.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auth, cors, HttpError, logger, middleware, platform } from '#packages/worker/index.ts';
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
