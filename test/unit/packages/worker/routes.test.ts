// Routes of packages/worker: which handler answers, what handlers may return, methods, mounting, failures.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HttpError, platform } from '#packages/worker/index.ts';
import { call, errorsOf } from './call.ts';

test('parameters come decoded, and a slash that is encoded stays inside its segment', async () => {
  const app = platform()
    .get('/users/:id', (ctx) => ({ id: ctx.params.id }))
    .build();
  assert.deepEqual((await call(app, 'GET /users/7')).json, { id: '7' });
  assert.deepEqual((await call(app, 'GET /users/a%2Fb%20c')).json, { id: 'a/b c' });
  assert.equal((await call(app, 'GET /users/')).status, 404);
  assert.equal((await call(app, 'GET /users/7/x')).status, 404);
});

test('fixed segments win over parameters, parameters over *, and a branch without the method is left again', async () => {
  const app = platform()
    .get('/a/:x', (ctx) => `parameter ${ctx.params.x}`)
    .get('/a/me', () => 'fixed')
    .get('/a/*', (ctx) => `rest ${ctx.params['*']}`)
    .delete('/a/:x', (ctx) => `deleted ${ctx.params.x}`)
    .get('/caf\u00e9', () => 'coffee')
    .build();
  assert.equal((await call(app, 'GET /a/me')).text, 'fixed');
  assert.equal((await call(app, 'GET /a/you')).text, 'parameter you');
  assert.equal((await call(app, 'GET /a/b/c')).text, 'rest b/c');
  assert.equal((await call(app, 'DELETE /a/me')).text, 'deleted me');
  assert.equal((await call(app, 'GET /caf%C3%A9')).text, 'coffee');
});

test('an optional end answers with and without', async () => {
  const app = platform()
    .get('/list/:page?', (ctx) => ({ page: ctx.params.page ?? 'first' }))
    .get('/:lang?', (ctx) => ({ lang: ctx.params.lang ?? 'none' }))
    .build();
  assert.deepEqual((await call(app, 'GET /list')).json, { page: 'first' });
  assert.deepEqual((await call(app, 'GET /list/2')).json, { page: '2' });
  assert.deepEqual((await call(app, 'GET /')).json, { lang: 'none' });
  assert.deepEqual((await call(app, 'GET /de')).json, { lang: 'de' });
});

test('what a handler returns becomes the answer', async () => {
  const app = platform()
    .get('/object', () => ({ a: 1 }))
    .get('/list', () => [1, 2])
    .get('/number', () => 7)
    .get('/text', () => 'plain')
    .get('/nothing', () => undefined)
    .get('/null', async () => null)
    .get('/json', (ctx) => ctx.json({ made: true }, 201, { 'x-a': 'b' }))
    .get('/set', (ctx) => {
      ctx.set.status = 202;
      ctx.set.headers.append('set-cookie', 'a=1');
      ctx.set.headers.append('set-cookie', 'b=2');
      return { later: true };
    })
    .get('/response', () => new Response('own', { status: 203 }))
    .get('/bytes', () => new Uint8Array([104, 105]))
    .get('/stream', () => new Blob(['streamed']).stream())
    .get('/redirect', (ctx) => ctx.redirect('/text', 303))
    .build();
  const answers: Record<string, [number, string | null, string]> = {};
  for (const name of [
    'object',
    'list',
    'number',
    'text',
    'nothing',
    'null',
    'json',
    'set',
    'response',
    'bytes',
    'stream',
    'redirect',
  ]) {
    const { status, headers, text } = await call(app, `GET /${name}`);
    answers[name] = [status, headers.get('content-type'), text];
  }
  assert.deepEqual(answers, {
    object: [200, 'application/json', '{"a":1}'],
    list: [200, 'application/json', '[1,2]'],
    number: [200, 'application/json', '7'],
    text: [200, 'text/plain;charset=UTF-8', 'plain'],
    nothing: [204, null, ''],
    null: [204, null, ''],
    json: [201, 'application/json', '{"made":true}'],
    set: [202, 'application/json', '{"later":true}'],
    response: [203, 'text/plain;charset=UTF-8', 'own'],
    bytes: [200, 'application/octet-stream', 'hi'],
    stream: [200, 'application/octet-stream', 'streamed'],
    redirect: [303, null, ''],
  });
  assert.deepEqual((await call(app, 'GET /set')).headers.getSetCookie(), ['a=1', 'b=2']);
});

test('a path without routes is 404, another method 405 with Allow, OPTIONS 204 with Allow', async () => {
  const app = platform()
    .get('/a', () => 'a')
    .post('/a', () => 'b')
    .put('/:x', () => 'c')
    .build();
  assert.deepEqual((await call(app, 'GET /b/c')).json, { error: 'Not Found' });
  const refused = await call(app, 'DELETE /a');
  assert.deepEqual(
    [refused.status, refused.json, refused.headers.get('allow')],
    [405, { error: 'Method Not Allowed' }, 'GET, POST, PUT, HEAD, OPTIONS'],
  );
  const options = await call(app, 'OPTIONS /a');
  assert.deepEqual(
    [options.status, options.text, options.headers.get('allow')],
    [204, '', 'GET, POST, PUT, HEAD, OPTIONS'],
  );
  assert.equal((await call(app, 'PUT /a')).text, 'c');
});

test('HEAD answers as GET does: the server leaves the body out', async () => {
  const app = platform()
    .get('/a', (ctx) => ctx.json({ a: 1 }, 201, { 'x-a': 'b' }))
    .build();
  const { status, headers, text } = await call(app, 'HEAD /a');
  assert.deepEqual(
    [status, headers.get('x-a'), headers.get('content-type'), text],
    [201, 'b', 'application/json', '{"a":1}'],
  );
  assert.equal((await call(app, 'HEAD /b')).status, 404);
});

test('an HttpError is its answer, another error is 500 and a log line', async () => {
  const app = platform()
    .get('/gone', () => {
      throw new HttpError(410, 'Gone', { code: 'gone', headers: { 'x-why': 'time' } });
    })
    .get('/broken', async () => {
      throw new Error('secret detail');
    })
    .build();
  const gone = await call(app, 'GET /gone');
  assert.deepEqual([gone.status, gone.json, gone.headers.get('x-why')], [410, { error: 'Gone', code: 'gone' }, 'time']);
  const lines = await errorsOf(async () => {
    const broken = await call(app, 'GET /broken');
    assert.deepEqual([broken.status, broken.json], [500, { error: 'Internal Server Error' }]);
  });
  assert.match(lines.join('\n'), /secret detail/);
});

test('onError and notFound answer in place of the defaults, wherever in the chain they stand', async () => {
  const app = platform()
    .onError((error, ctx) => ctx.json({ failed: (error as Error).message }, 502))
    .get('/broken', () => {
      throw new Error('no');
    })
    .notFound((ctx) => ctx.json({ missing: ctx.path }, 404))
    .build();
  assert.deepEqual((await call(app, 'GET /broken')).json, { failed: 'no' });
  assert.deepEqual((await call(app, 'GET /x')).json, { missing: '/x' });
});

test('an app is mounted under a prefix, with its own failures and the state around it', async () => {
  const admin = platform<unknown, { user: string }>()
    .get('/', (ctx) => `admin ${ctx.state.user}`)
    .get('/logs/:day', (ctx) => `${ctx.params.day} ${ctx.route}`)
    .get('/broken', () => {
      throw new Error('no');
    })
    .onError((_error, ctx) => ctx.json({ by: 'admin' }, 500))
    .notFound((ctx) => ctx.json({ by: 'admin' }, 404));
  const app = platform()
    .state({ user: 'ada' })
    .get('/', () => 'home')
    .route('/admin', admin)
    .route(
      '/tenants/:tenant',
      platform().get('/x', (ctx) => ctx.params),
    )
    .build();
  assert.equal((await call(app, 'GET /admin')).text, 'admin ada');
  assert.equal((await call(app, 'GET /admin/logs/monday')).text, 'monday /admin/logs/:day');
  assert.deepEqual((await call(app, 'GET /admin/broken')).json, { by: 'admin' });
  assert.deepEqual((await call(app, 'GET /admin/nowhere')).json, { by: 'admin' });
  assert.deepEqual((await call(app, 'GET /nowhere')).json, { error: 'Not Found' });
  assert.deepEqual((await call(app, 'GET /tenants/7/x')).json, { tenant: '7' });
});

test('every call makes a new app: two branches of one know nothing of each other', async () => {
  const base = platform().get('/a', () => 'a');
  const left = base.get('/left', () => 'l').build();
  const right = base.get('/right', () => 'r').build();
  assert.equal((await call(left, 'GET /a')).text, 'a');
  assert.equal((await call(left, 'GET /right')).status, 404);
  assert.equal((await call(right, 'GET /left')).status, 404);
});

test('only what is defined is exported', () => {
  assert.deepEqual(Object.keys(platform().build()), ['fetch']);
  const all = platform()
    .queue('Q', {}, () => {})
    .workflow('w', {}, () => {})
    .timer('T', () => {})
    .cron('*', () => {})
    .build();
  assert.deepEqual(Object.keys(all).sort(), ['fetch', 'message', 'scheduled', 'timer', 'workflows']);
});

test('mistakes are errors when the app is made', () => {
  const no = (): undefined => undefined;
  assert.throws(() => platform().get('users', no), /does not begin with/);
  assert.throws(() => platform().get('/a/:x/:x', no), /names x twice/);
  assert.throws(() => platform().get('/*/a', no), /continues after \*/);
  assert.throws(() => platform().get('/file.:ext', no), /a parameter is a whole segment/);
  assert.throws(() => platform().get('/:__proto__', no), /no parameter/);
  assert.throws(() => platform().get('/a', no).get('/a', no).build(), /two routes GET \/a/);
  assert.throws(() => platform().get('/:a', no).get('/:b', no).build(), /two routes GET \/:b/);
  assert.throws(
    () => platform().get('/', { query: { type: 'object', unevaluatedProperties: false } }, no),
    /unevaluatedProperties is not supported/,
  );
  assert.throws(() => platform().get('/', undefined as never), /needs a function/);
  assert.throws(() => platform().queue('Q', {}, no).queue('Q', {}, no).build(), /two handlers of the queue Q/);
});
