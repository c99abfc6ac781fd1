// The same two routes written with bare `fetch`, with packages/worker and with Hono, each called in a loop inside the
// isolate. `?app=<name>&route=get|post&ms=40` answers the nanoseconds of a request; anything else is served by the app
// itself.
import { Hono } from 'hono';
import { validator } from 'hono/validator';
import Type from 'typebox';
import { z } from 'zod';
import { platform } from '../../packages/worker/index.ts';

const Params = z.object({ id: z.coerce.number().int() });
const Query = z.object({ q: z.string().optional() });
const NewUser = z.object({
  name: z.string().min(1),
  email: z.email(),
  age: z.number().int().min(0),
  tags: z.array(z.string()),
});
const User = NewUser.extend({ id: z.number().int() });

const ada = { id: 7, name: 'Ada', email: 'ada@example.org', age: 36, tags: ['a', 'b'], password: 'hunter2' };
const body = JSON.stringify({ name: 'Ada', email: 'ada@example.org', age: 36, tags: ['a', 'b'] });

const box = {
  Params: Type.Object({ id: Type.Integer() }),
  Query: Type.Object({ q: Type.Optional(Type.String()) }),
  NewUser: Type.Object({
    name: Type.String({ minLength: 1 }),
    email: Type.String({ format: 'email' }),
    age: Type.Integer({ minimum: 0 }),
    tags: Type.Array(Type.String()),
  }),
  User: Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    email: Type.String(),
    age: Type.Integer(),
    tags: Type.Array(Type.String()),
  }),
};

interface App {
  fetch(request: Request, env?: unknown): Response | Promise<Response>;
}

const bare: App = {
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (request.method === 'POST')
      return request.json().then((given) => Response.json({ ...(given as object), id: 7 }));
    return Response.json({
      ...ada,
      id: Number(pathname.slice('/users/'.length)),
      q: searchParams.get('q') ?? undefined,
    });
  },
};

const bareZod: App = {
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (request.method === 'POST')
      return request.json().then((given) => Response.json(User.parse({ ...NewUser.parse(given), id: 7 })));
    const { id } = Params.parse({ id: pathname.slice('/users/'.length) });
    Query.parse(Object.fromEntries(searchParams));
    return Response.json(User.parse({ ...ada, id }));
  },
};

const apps: Readonly<Record<string, App>> = {
  bare,
  'bare-zod': bareZod,
  'ours-plain': platform()
    .get('/users/:id', (ctx) => ({ ...ada, id: Number(ctx.params.id), q: ctx.query['q'] }))
    .post('/users', async (ctx) => ({ ...((await ctx.req.json()) as object), id: 7 }))
    .build() as App,
  'ours-zod': platform()
    .get('/users/:id', { params: Params, query: Query, response: User }, (ctx) => ({ ...ada, id: ctx.params.id }))
    .post('/users', { body: NewUser, response: User }, (ctx) => ({ ...ctx.body, id: 7 }))
    .build() as App,
  'ours-typebox': platform()
    .get('/users/:id', { params: box.Params, query: box.Query, response: box.User }, (ctx) => ({
      ...ada,
      id: ctx.params.id,
    }))
    .post('/users', { body: box.NewUser, response: box.User }, (ctx) => ({ ...ctx.body, id: 7 }))
    .build() as App,
  'hono-plain': new Hono()
    .get('/users/:id', (c) => c.json({ ...ada, id: Number(c.req.param('id')), q: c.req.query('q') }))
    .post('/users', async (c) => c.json({ ...(await c.req.json()), id: 7 })) as App,
  'hono-zod': honoApp(false),
  'hono-zod-both': honoApp(true),
};

/** Hono checks requests alone; `both` parses the answer too, as ours does. */
function honoApp(both: boolean): App {
  const answer = <T>(value: T): T => (both ? (User.parse(value) as T) : value);
  const check =
    <S extends z.ZodType>(schema: S) =>
    (value: unknown, c: { json(body: object, status: 400): Response }) => {
      const checked = schema.safeParse(value);
      return checked.success ? checked.data : c.json({ error: 'Validation failed', issues: checked.error.issues }, 400);
    };
  return new Hono()
    .get('/users/:id', validator('param', check(Params) as never), validator('query', check(Query) as never), (c) => {
      const { id } = c.req.valid('param' as never) as { id: number };
      return c.json(answer({ ...ada, id }));
    })
    .post('/users', validator('json', check(NewUser) as never), (c) =>
      c.json(answer({ ...(c.req.valid('json' as never) as object), id: 7 })),
    ) as App;
}

const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };

function ask(app: App, route: string): Response | Promise<Response> {
  if (route === 'post')
    return app.fetch(new Request('http://app.localhost/users', { method: 'POST', headers, body }), {});
  return app.fetch(new Request('http://app.localhost/users/7?q=x'), {});
}

/** Nanoseconds of a request, the making of its Request and the reading of its Response left in. */
async function measure(app: App, route: string, ms: number): Promise<object> {
  const sample = await (await ask(app, route)).text();
  let count = 0;
  const started = performance.now();
  let now = started;
  while (now - started < ms) {
    for (let at = 0; at < 100; at++) await ask(app, route);
    count += 100;
    now = performance.now();
  }
  return { ns: ((now - started) * 1e6) / count, sample };
}

export default {
  fetch(request: Request): Response | Promise<Response> {
    const { url } = request;
    // Under load the query ends in `&app=<name>`: found without parsing anything, so that all pay the same.
    if (!url.includes('ms=')) return (apps[url.slice(url.lastIndexOf('=') + 1)] ?? bare).fetch(request, {});
    const query = new URL(url).searchParams;
    return measure(apps[query.get('app') ?? ''] ?? bare, query.get('route') ?? 'get', Number(query.get('ms'))).then(
      (result) => Response.json(result),
    );
  },
};
