// What clients should not send to an app of packages/worker, and how each is answered.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { z } from 'zod';
import { parseJson, parseQuery } from '#packages/worker/body.ts';
import { auth, platform } from '#packages/worker/index.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';
import { call } from './call.ts';

const app = platform()
  .post('/users', { body: z.object({ name: z.string(), age: z.number().int().optional() }) }, (ctx) => ctx.body)
  .post('/any', { body: z.unknown() }, (ctx) => ({ body: ctx.body ?? 'nothing' }))
  .post('/maybe', { body: z.object({ a: z.number() }).optional() }, (ctx) => ({ body: ctx.body ?? 'nothing' }))
  .post('/small', { body: z.unknown(), bodyLimit: 10 }, (ctx) => ({ body: ctx.body }))
  .post(
    '/form',
    { body: z.object({ a: z.string(), b: z.array(z.string()).optional() }), bodyType: 'form' },
    (ctx) => ctx.body,
  )
  .post(
    '/upload',
    { body: z.object({ file: z.instanceof(File), note: z.string() }), bodyType: 'form' },
    async (ctx) => ({
      name: ctx.body.file.name,
      text: await ctx.body.file.text(),
      note: ctx.body.note,
    }),
  )
  .post('/text', { body: z.string().max(5), bodyType: 'text' }, (ctx) => ({ body: ctx.body }))
  .get(
    '/query',
    {
      query: z.object({
        q: z.string().optional(),
        tag: z.array(z.string()).optional(),
        n: z.coerce.number().optional(),
      }),
    },
    (ctx) => ctx.query,
  )
  .get('/free', (ctx) => ctx.query)
  .get('/users/:id', { params: z.object({ id: z.coerce.number().int() }) }, (ctx) => ctx.params)
  .get('/secured', { headers: z.object({ 'x-key': z.string().min(3) }) }, (ctx) => ctx.headers)
  .build();

const json = { 'content-type': 'application/json' };

test('what a schema refuses is 400 with every issue, its place and no value', async () => {
  const { status, json: body } = await call(app, 'POST /users', { json: { name: 5, age: 1.5 } });
  assert.equal(status, 400);
  assert.deepEqual(body, {
    error: 'Validation failed',
    issues: [
      { path: ['name'], message: 'Invalid input: expected string, received number', in: 'body' },
      { path: ['age'], message: 'Invalid input: expected int, received number', in: 'body' },
    ],
  });
  assert.deepEqual((await call(app, 'GET /users/x')).json, {
    error: 'Validation failed',
    issues: [{ path: ['id'], message: 'Invalid input: expected number, received NaN', in: 'params' }],
  });
  assert.deepEqual((await call(app, 'GET /secured', { headers: { 'x-key': 'ab' } })).status, 400);
  assert.deepEqual((await call(app, 'GET /secured', { headers: { 'X-Key': 'abc' } })).json, { 'x-key': 'abc' });
});

test('malformed JSON is 400', async () => {
  for (const body of ['{', '{"a":1,}', 'undefined', "{'a':1}", '\u0000', '[1', '{"a":1}x']) {
    const answer = await call(app, 'POST /any', { headers: json, body });
    assert.deepEqual([answer.status, answer.json], [400, { error: 'Malformed JSON' }], body);
  }
});

test('no body is undefined to the schema, whatever its type says', async () => {
  assert.deepEqual((await call(app, 'POST /maybe')).json, { body: 'nothing' });
  assert.deepEqual((await call(app, 'POST /maybe', { headers: json, body: '' })).json, { body: 'nothing' });
  assert.equal((await call(app, 'POST /users')).status, 400);
});

test('another content type, charset or encoding is 415, and says what is taken', async () => {
  const bodies: [string, string][] = [
    ['text/plain', '{}'],
    ['application/x-www-form-urlencoded', 'a=1'],
    ['application/json; charset=latin1', '{}'],
    ['', '{}'],
  ];
  for (const [type, body] of bodies) {
    const answer = await call(app, 'POST /any', { headers: { 'content-type': type }, body });
    assert.deepEqual(
      [answer.status, answer.headers.get('accept'), answer.json],
      [415, 'application/json', { error: 'Unsupported Media Type' }],
      type,
    );
  }
  const packed = await call(app, 'POST /any', { headers: { ...json, 'content-encoding': 'gzip' }, body: 'x' });
  assert.deepEqual([packed.status, packed.headers.get('accept-encoding')], [415, 'identity']);
  for (const type of [
    'application/json; charset=UTF-8',
    'application/problem+json',
    'Application/JSON',
    'application/json;charset="utf-8"',
  ]) {
    assert.equal((await call(app, 'POST /any', { headers: { 'content-type': type }, body: '{}' })).status, 200, type);
  }
});

test('a body over the limit is 413, by the length it declares or by the bytes that come', async () => {
  const declared = await call(app, 'POST /small', {
    headers: { ...json, 'content-length': '11' },
    body: '"123456789"',
  });
  assert.deepEqual([declared.status, declared.json], [413, { error: 'The body is longer than 10 bytes' }]);
  let cancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(4).fill(32)),
    cancel: () => void (cancelled = true),
  });
  const streamed = await call(app, 'POST /small', { headers: json, body: endless, duplex: 'half' } as RequestInit);
  assert.deepEqual([streamed.status, cancelled], [413, true]);
  assert.deepEqual((await call(app, 'POST /small', { headers: json, body: '"12345678"' })).json, { body: '12345678' });
});

test('names that reach a prototype are refused in JSON, forms and queries', async () => {
  const bodies = [
    '{"__proto__":{"admin":true}}',
    '{"a":[{"__proto__":1}]}',
    '{"\\u005f_proto__":{}}',
    '{"constructor":{"prototype":{"x":1}}}',
  ];
  for (const body of bodies) {
    const answer = await call(app, 'POST /any', { headers: json, body });
    assert.equal(answer.status, 400, body);
    assert.match(answer.text, /is a name that is not allowed/);
  }
  assert.deepEqual((await call(app, 'POST /any', { json: { text: '__proto__', constructor: 'Lego' } })).json, {
    body: { text: '__proto__', constructor: 'Lego' },
  });
  assert.equal((await call(app, 'GET /free?__proto__=a')).status, 400);
  assert.equal((await call(app, 'GET /free?__pro%74o__[x]=a')).status, 200);
  assert.equal(
    (await call(app, 'POST /form', { body: new URLSearchParams({ __proto__x: 'a', ['__proto__']: 'b' }) })).status,
    400,
  );
  assert.equal(({} as Record<string, unknown>)['admin'], undefined);
});

test('a path that cannot be decoded is 400, a query is decoded as the URL standard does', async () => {
  for (const path of ['/users/%zz', '/users/%', '/users/%E0%A4', '/%c3%28']) {
    assert.deepEqual((await call(app, `GET ${path}`)).json, { error: 'Malformed path' }, path);
  }
  assert.deepEqual((await call(app, 'GET /free?a=%zz&b=%&c=1+2%2B3&d&=e&&%61=x')).json, {
    a: ['%zz', 'x'],
    b: '%',
    c: '1 2+3',
    d: '',
    '': 'e',
  });
});

test('a key that repeats is an array, and a schema that asks for an array gets one', async () => {
  assert.deepEqual((await call(app, 'GET /query?tag=a&tag=b&n=5')).json, { tag: ['a', 'b'], n: 5 });
  assert.deepEqual((await call(app, 'GET /query?tag=a')).json, { tag: ['a'] });
  assert.equal((await call(app, 'GET /query?q=a&q=b')).status, 400);
  assert.deepEqual((await call(app, 'GET /query?n=x')).json, {
    error: 'Validation failed',
    issues: [{ path: ['n'], message: 'Invalid input: expected number, received NaN', in: 'query' }],
  });
});

test('forms come as objects, files as files, texts as texts', async () => {
  assert.deepEqual((await call(app, 'POST /form', { body: new URLSearchParams('a=1&b=2&b=3') })).json, {
    a: '1',
    b: ['2', '3'],
  });
  const form = new FormData();
  form.set('file', new File(['content'], 'a.txt'));
  form.set('note', 'n');
  assert.deepEqual((await call(app, 'POST /upload', { body: form })).json, {
    name: 'a.txt',
    text: 'content',
    note: 'n',
  });
  const broken = await call(app, 'POST /upload', {
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
    body: '--y\r\nnope',
  });
  assert.deepEqual([broken.status, broken.json], [400, { error: 'Malformed form' }]);
  assert.deepEqual(
    (await call(app, 'POST /text', { headers: { 'content-type': 'text/markdown' }, body: '# hi' })).json,
    { body: '# hi' },
  );
  assert.equal(
    (await call(app, 'POST /text', { headers: { 'content-type': 'text/plain' }, body: 'too long' })).status,
    400,
  );
});

test('random queries and bodies never throw, and a query reads as URLSearchParams reads it', () => {
  const random = createSeededRandom();
  const alphabet = [
    'a',
    'b',
    '=',
    '&',
    '%',
    '+',
    '2',
    'F',
    'é',
    '%C3%A9',
    '%zz',
    '"',
    '{',
    '}',
    ':',
    ',',
    '\\u005f',
    '[',
    ']',
  ];
  for (let round = 0; round < 3000; round++) {
    const text = random.text(alphabet, 12);
    const expected: Record<string, string | string[]> = {};
    for (const key of new URLSearchParams(text).keys()) {
      const all = new URLSearchParams(text).getAll(key);
      expected[key] = all.length === 1 ? all[0]! : all;
    }
    assert.deepEqual(parseQuery(text), expected, `${JSON.stringify(text)}, seed ${random.seed}`);
    try {
      parseJson(text);
    } catch (error) {
      assert.equal((error as { status?: number }).status, 400, `${JSON.stringify(text)}, seed ${random.seed}`);
    }
  }
});

test('random paths, tokens and content types are answered, never with a failure of the app', async () => {
  const random = createSeededRandom();
  const guarded = platform()
    .use(auth({ bearer: { secret: 'a secret of at least 32 bytes, really' } }))
    .get('/*', () => 'in')
    .build();
  const pieces = [
    '/',
    'users',
    ':id',
    '*',
    '%',
    '%2F',
    '%zz',
    '%C3%A9',
    '..',
    '.',
    ';',
    '=',
    '?',
    '&',
    '\\',
    'a',
    '7',
    '__proto__',
    '//',
  ];
  const signs = ['eyJ', '.', '..', 'a', '=', '-', '_', '{', 'e30', 'eyJhbGciOiJIUzI1NiJ9', ' ', 'Bearer', '+', '/'];
  const types = [
    'application/json',
    ';',
    ' ',
    'charset',
    '=',
    '"',
    'utf-8',
    'multipart/form-data',
    'boundary=',
    'x',
    '/',
    '+json',
    ',',
  ];
  for (let round = 0; round < 600; round++) {
    const seen = `seed ${random.seed}`;
    const path = `/${random.text(pieces, 6)}`;
    assert.ok(
      [200, 204, 400, 404, 405, 415].includes(
        (await call(app, `${random.pick(['GET', 'DELETE', 'OPTIONS', 'HEAD'])} ${path}`)).status,
      ),
      `${path} ${seen}`,
    );
    const authorization = `Bearer ${random.text(signs, 8)}`;
    assert.equal(
      (await call(guarded, 'GET /x', { headers: { authorization } })).status,
      401,
      `${authorization} ${seen}`,
    );
    const type = random.text(types, 8);
    const { status } = await call(app, `POST ${random.pick(['/any', '/upload', '/form', '/text'])}`, {
      headers: { 'content-type': type },
      body: random.text(['{}', '--x', '\r\n', 'a=1'], 4),
    });
    assert.ok([200, 400, 415].includes(status), `${type} ${status} ${seen}`);
  }
});

test('a strict route refuses options and members that it does not declare, by name', async () => {
  const strict = platform()
    .post(
      '/',
      {
        strict: true,
        query: Type.Object({ dry: Type.Optional(Type.Boolean()) }),
        body: Type.Object({
          name: Type.Optional(Type.String()),
          free: Type.Optional(Type.Object({}, { additionalProperties: true })),
          inner: Type.Optional(Type.Union([Type.Object({ a: Type.Integer() }), Type.Null()])),
          list: Type.Optional(Type.Array(Type.Object({ b: Type.Integer() }))),
        }),
      },
      (ctx) => ({ query: ctx.query, body: ctx.body }),
    )
    .get('/bare', { strict: true }, () => 'bare')
    .build();
  const good = { name: 'Ada', free: { x: 1 }, inner: { a: 1 }, list: [{ b: 2 }] };
  assert.deepEqual((await call(strict, 'POST /?dry=true', { json: good })).json, { query: { dry: true }, body: good });
  assert.equal((await call(strict, 'GET /bare')).text, 'bare');
  const refused = async (ask: string, json?: unknown): Promise<unknown> =>
    ((await call(strict, ask, json === undefined ? {} : { json })).json as { issues?: unknown }).issues;
  const issue = (at: string, ...path: readonly (string | number)[]) => [{ path, message: 'is not allowed', in: at }];
  assert.deepEqual(await refused('POST /?drry=true', {}), issue('query', 'drry'));
  assert.deepEqual(await refused('GET /bare?x=1'), issue('query', 'x'));
  assert.deepEqual(await refused('POST /', { nam: 'Ada' }), issue('body', 'nam'));
  assert.deepEqual(await refused('POST /', { inner: { a: 1, c: 1 } }), issue('body', 'inner', 'c'));
  assert.deepEqual(await refused('POST /', { list: [{ b: 1, c: 1 }] }), issue('body', 'list', 0, 'c'));
});

test('strict with a schema that cannot be closed is an error when the route is added', () => {
  assert.throws(() => platform().get('/', { strict: true, query: z.object({}) }, () => 'x'), {
    message: 'strict needs a JSON Schema; with zod, use strictObject',
  });
});
