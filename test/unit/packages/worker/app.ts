// One app with a bit of everything, for the tests of the API description, the typed client and the generated clients.
import Type from 'typebox';
import * as v from 'valibot';
import { type } from 'arktype';
import { z } from 'zod';
import { HttpError, platform } from '#packages/worker/index.ts';

const Node = z.object({
  name: z.string(),
  get children() {
    return z.array(Node);
  },
});
const User = z.object({ id: z.int(), name: z.string(), email: z.email().optional() }).meta({ id: 'User' });
const Failure = z.object({ error: z.string() });

const users = new Map([[1, { id: 1, name: 'Ada', email: 'ada@example.org', password: 'hunter2' }]]);

const admin = platform().get('/stats', { response: Type.Object({ users: Type.Integer() }), tags: ['admin'] }, () => ({
  users: users.size,
}));

/** The app. */
export const app = platform()
  .openapi({
    path: '/openapi.json',
    ui: '/docs',
    info: { title: 'Users', version: '1.0.0', description: 'Everything at once' },
    servers: [{ url: 'http://app.localhost' }],
    securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    tags: [{ name: 'users' }, { name: 'admin' }],
  })
  .get(
    '/users',
    {
      query: z.object({
        q: z.string().optional(),
        tag: z.array(z.string()).optional(),
        limit: z.coerce.number().int().default(10),
      }),
      response: z.array(User),
      summary: 'All users',
      tags: ['users'],
    },
    (ctx) => [...users.values()].filter(({ name }) => name.includes(ctx.query.q ?? '')).slice(0, ctx.query.limit),
  )
  .get(
    '/users/:id',
    {
      params: z.object({ id: z.coerce.number().int() }),
      response: { 200: User, 404: Failure },
      tags: ['users'],
      operationId: 'getUser',
    },
    (ctx) => users.get(ctx.params.id) ?? ctx.json({ error: 'No such user' }, 404),
  )
  .post(
    '/users',
    {
      body: User.omit({ id: true }),
      response: { 201: User, 409: Failure },
      security: [{ token: [] }],
      tags: ['users'],
    },
    (ctx) => (ctx.body.name === 'Ada' ? ctx.json({ error: 'Taken' }, 409) : ctx.json({ ...ctx.body, id: 2 }, 201)),
  )
  .delete('/users/:id', { params: Type.Object({ id: Type.Integer() }), response: { 204: null } }, () => undefined)
  .put('/trees', { body: Node, response: Node }, (ctx) => ctx.body)
  .patch('/mixed', { body: v.object({ a: v.number() }), response: type({ b: 'number' }) }, (ctx) => ({
    b: ctx.body.a,
    c: 1,
  }))
  .post('/forms', { body: z.object({ a: z.string() }), bodyType: 'form' }, (ctx) => ctx.body)
  .get('/files/*', { headers: z.object({ 'x-key': z.string().optional() }), deprecated: true }, (ctx) => ({
    path: ctx.params['*'],
    key: ctx.headers['x-key'],
  }))
  .get('/pages/:page?', (ctx) => ({ page: ctx.params.page ?? 'first' }))
  .get('/dates', () => ({ at: new Date(0), list: [1, 2] }))
  .get('/broken', () => {
    throw new HttpError(503, 'Later', { code: 'later' });
  })
  .get('/hidden', { hidden: true }, () => 'x')
  .route('/admin', admin)
  .build();
