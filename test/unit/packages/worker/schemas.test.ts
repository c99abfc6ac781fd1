// Every kind of schema through an app of packages/worker: what it lets in, what it lets out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type } from 'arktype';
import Type from 'typebox';
import * as v from 'valibot';
import { z } from 'zod';
import { platform } from '#packages/worker/index.ts';
import { call, errorsOf } from './call.ts';

const good = { name: 'Ada', age: 36 };
const returned = { name: 'Ada', age: 36, password: 'hunter2', inner: { a: 1, secret: 2 }, list: [{ a: 1, secret: 2 }] };
const trimmed = { name: 'Ada', inner: { a: 1 }, list: [{ a: 1 }] };

const kinds = {
  zod: [
    z.object({ name: z.string(), age: z.number().min(0) }),
    z.object({ name: z.string(), inner: z.object({ a: z.number() }), list: z.array(z.object({ a: z.number() })) }),
  ],
  valibot: [
    v.object({ name: v.string(), age: v.pipe(v.number(), v.minValue(0)) }),
    v.object({ name: v.string(), inner: v.object({ a: v.number() }), list: v.array(v.object({ a: v.number() })) }),
  ],
  arktype: [
    type({ name: 'string', age: 'number>=0' }),
    type({ name: 'string', inner: { a: 'number' }, list: type({ a: 'number' }).array() }),
  ],
  typebox: [
    Type.Object({ name: Type.String(), age: Type.Number({ minimum: 0 }) }),
    Type.Object({
      name: Type.String(),
      inner: Type.Object({ a: Type.Number() }),
      list: Type.Array(Type.Object({ a: Type.Number() })),
    }),
  ],
  'JSON Schema': [
    {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'number', minimum: 0 } },
      required: ['name', 'age'],
    },
    {
      type: 'object',
      properties: {
        name: { type: 'string' },
        inner: { $ref: '#/$defs/A' },
        list: { type: 'array', items: { $ref: '#/$defs/A' } },
      },
      required: ['name'],
      $defs: { A: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] } },
    },
  ],
} as const;

for (const [kind, [input, output]] of Object.entries(kinds)) {
  test(`${kind}: a request is checked, an answer is checked and loses what is not declared`, async () => {
    const app = platform()
      .post('/in', { body: input }, (ctx) => ctx.body)
      .get('/out', { response: output }, () => returned as never)
      .get('/wrong', { response: output }, () => ({ name: 5 }) as never)
      .build();
    assert.deepEqual((await call(app, 'POST /in', { json: good })).json, good);
    const refused = await call(app, 'POST /in', { json: { name: 'Ada', age: -1 } });
    assert.equal(refused.status, 400);
    assert.deepEqual(
      (refused.json as { issues: { path: unknown; in: unknown }[] }).issues.map(({ path, in: part }) => [path, part]),
      [[['age'], 'body']],
    );
    const text = await call(app, 'POST /in', { json: { name: 'Ada', age: 'hunter2' } });
    assert.deepEqual([text.status, text.text.includes('hunter2')], [400, false], text.text);
    assert.deepEqual((await call(app, 'GET /out')).json, trimmed);
    const lines = await errorsOf(async () => {
      const wrong = await call(app, 'GET /wrong');
      assert.deepEqual([wrong.status, wrong.json], [500, { error: 'Response validation failed' }]);
    });
    assert.match(lines.join('\n'), /GET \/wrong: .*name: /);
  });
}

test('asynchronous schemas are waited for, in every part', async () => {
  const later = <T extends z.ZodType>(schema: T) => schema.refine(async () => true);
  const app = platform()
    .post(
      '/:id',
      {
        params: later(z.object({ id: z.coerce.number() })),
        query: later(z.object({ q: z.string() })),
        body: later(z.object({ a: z.number() })),
        response: later(z.object({ id: z.number(), q: z.string(), a: z.number() })),
      },
      (ctx) => ({ id: ctx.params.id, q: ctx.query.q, a: ctx.body.a, more: 1 }),
    )
    .build();
  assert.deepEqual((await call(app, 'POST /7?q=x', { json: { a: 1 } })).json, { id: 7, q: 'x', a: 1 });
  assert.equal((await call(app, 'POST /x?q=x', { json: { a: 1 } })).status, 400);
  assert.equal((await call(app, 'POST /7', { json: { a: 1 } })).status, 400);
});

test('schemas by status: each answer has its own, 204 has no body, an undeclared status is a failure', async () => {
  const app = platform()
    .get(
      '/:what',
      { response: { 200: z.object({ a: z.number() }), 404: z.object({ error: z.string() }), 204: null } },
      (ctx) => {
        if (ctx.params.what === 'missing') return ctx.json({ error: 'no', secret: 1 }, 404);
        if (ctx.params.what === 'none') return ctx.json(undefined, 204);
        if (ctx.params.what === 'odd') return ctx.json({ error: 'odd' }, 418 as never) as never;
        if (ctx.params.what === 'wrong') return ctx.json({ error: 5 } as never, 404);
        return { a: 1, secret: 2 };
      },
    )
    .post('/made', { response: { 201: z.object({ a: z.number() }) } }, () => ({ a: 1 }))
    .get('/response', { response: z.object({ a: z.number() }) }, () =>
      Response.json({ a: 1, secret: 2 }, { headers: { 'x-a': 'b' } }),
    )
    .get(
      '/broken',
      { response: z.object({ a: z.number() }) },
      () => new Response('{', { headers: { 'content-type': 'application/json' } }),
    )
    .get(
      '/page',
      { response: z.object({ a: z.number() }) },
      () => new Response('<p>', { headers: { 'content-type': 'text/html' } }),
    )
    .get('/free', { response: z.object({ a: z.number() }) }, (ctx) => ctx.json({ why: 'anything' }, 503))
    .build();
  assert.deepEqual((await call(app, 'GET /x')).json, { a: 1 });
  assert.deepEqual((await call(app, 'GET /missing')).json, { error: 'no' });
  assert.deepEqual([(await call(app, 'GET /none')).status, (await call(app, 'GET /none')).text], [204, '']);
  assert.equal((await call(app, 'POST /made')).status, 201);
  const own = await call(app, 'GET /response');
  assert.deepEqual([own.json, own.headers.get('x-a')], [{ a: 1 }, 'b']);
  assert.equal((await call(app, 'GET /page')).text, '<p>');
  assert.deepEqual((await call(app, 'GET /free')).json, { why: 'anything' });
  const lines = await errorsOf(async () => {
    for (const path of ['/odd', '/wrong', '/broken']) assert.equal((await call(app, `GET ${path}`)).status, 500, path);
  });
  assert.match(
    lines.join('\n'),
    /status 418 is not declared[^]*error: Invalid input[^]*is declared as JSON, but is not/,
  );
});

test('with a JSON Schema, texts of path, query and headers become what it asks for, and defaults are filled in', async () => {
  const app = platform()
    .get(
      '/:id',
      {
        params: Type.Object({ id: Type.Integer() }),
        query: Type.Object({
          n: Type.Optional(Type.Number()),
          on: Type.Optional(Type.Boolean()),
          tags: Type.Optional(Type.Array(Type.Integer())),
          size: Type.Optional(Type.Union([Type.Literal(10), Type.Literal(20)])),
          page: Type.Integer({ default: 1 }),
        }),
        headers: Type.Object({ 'x-count': Type.Optional(Type.Integer()) }),
      },
      (ctx) => ({ params: ctx.params, query: ctx.query, count: ctx.headers['x-count'] }),
    )
    .build();
  assert.deepEqual((await call(app, 'GET /7?n=1.5&on=true&tags=3&size=20', { headers: { 'x-count': '4' } })).json, {
    params: { id: 7 },
    query: { n: 1.5, on: true, tags: [3], size: 20, page: 1 },
    count: 4,
  });
  assert.deepEqual((await call(app, 'GET /7?tags=3&tags=4')).json, {
    params: { id: 7 },
    query: { tags: [3, 4], page: 1 },
  });
  for (const path of ['/7.5', '/0x7', '/%207', '/7?n=', '/7?on=yes', '/7?size=15', '/7?tags=a', '/7?n=Infinity'])
    assert.equal((await call(app, `GET ${path}`)).status, 400, path);
});

test('transforms apply: what a handler sees and what a client gets is what the schema made', async () => {
  const app = platform()
    .post(
      '/',
      {
        body: z.object({ at: z.coerce.date() }),
        response: z.object({ year: z.number().transform((year) => `in ${year}`) }),
      },
      (ctx) => ({
        year: ctx.body.at.getUTCFullYear(),
      }),
    )
    .build();
  assert.deepEqual((await call(app, 'POST /', { json: { at: '2026-03-04' } })).json, { year: 'in 2026' });
});
