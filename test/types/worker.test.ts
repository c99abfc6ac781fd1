// packages/worker as a user's project sees it, to the type checker: what is inferred, what is refused, and a chain of
// 500 routes.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { manyRoutes } from '#test/unit/packages/worker/many-routes.ts';
import { checkProject, linesOf, strictSettings, type Said } from './users-project.ts';

const imports = `
import { auth, cors, HttpError, logger, middleware, platform, rateLimit } from '@platform-run/worker';
import { createClient } from '@platform-run/worker/client';
import { withOrm } from '@platform-run/worker/drizzle';
import type { Database, PlatformWorker, QueueBinding, StateBinding, TimerBinding } from '@platform-run/types';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { type } from 'arktype';
import Type from 'typebox';
import * as v from 'valibot';
import { z } from 'zod';
export { auth, cors, HttpError, logger, middleware, rateLimit, createClient, withOrm, integer, sqliteTable, text, type, Type, v };
export type Env = {
  JOBS: QueueBinding<{ to: string }>;
  DB: Database;
  KV: StateBinding;
  TICK: TimerBinding;
  vars: Record<string, string>;
};
export type Kept = [PlatformWorker, z.ZodType, typeof platform];
export const User = z.object({ id: z.string(), kind: z.enum(['a', 'b']), tags: z.array(z.string()) });
export const Failure = z.object({ error: z.string() });
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
export function same<A, B>(_: Equal<A, B>): void {}
const users = sqliteTable('users', { id: integer('id').primaryKey(), name: text('name').notNull() });
`;

const content = `${imports}
const sub = platform<Env, { user: { id: string } }>()
  .get('/', (ctx) => ctx.state.user.id)
  .get('/x/:y', (ctx) => ({ y: ctx.params.y }));

const app = platform<Env>()
  .use(cors())
  .use(logger())
  .use(rateLimit({ limit: 5, window: '1m', store: 'KV' }))
  .use(auth())
  .use(middleware<{ tenant: string }>(async (ctx, next) => {
    ctx.state.tenant = 'x';
    return next();
  }))
  .use(async (ctx, next) => {
    const response = await next();
    response.headers.set('x-path', ctx.path);
    return response;
  })
  .state({ answer: 42 as number })
  .state((ctx) => ({ jobs: ctx.env.JOBS }))
  .state(withOrm('DB', { users }))
  .openapi({ path: '/openapi.json', info: { title: 'a', version: '1' } })
  .get('/plain/:x', (ctx) => {
    same<typeof ctx.params, { readonly x: string }>(true);
    same<typeof ctx.body, undefined>(true);
    return { ok: true, at: new Date(), n: ctx.state.answer, id: ctx.state.user.id, tenant: ctx.state.tenant };
  })
  .get('/db', { response: z.array(z.object({ id: z.number(), name: z.string() })) }, (ctx) => ctx.state.db.query.users.findMany())
  .get(
    '/users/:id',
    {
      params: z.object({ id: z.coerce.number() }),
      query: z.object({ q: z.string().optional(), n: z.coerce.number().default(1) }),
      response: { 200: User, 404: Failure },
    },
    (ctx) => {
      same<typeof ctx.params, { id: number }>(true);
      same<typeof ctx.query.n, number>(true);
      if (ctx.query.n > 3) return ctx.json({ error: 'no' }, 404);
      if (ctx.query.n > 2) throw new HttpError(404, 'x');
      return { id: String(ctx.params.id), kind: 'a', tags: ['x'], secret: 1 };
    },
  )
  .post('/users', { body: v.object({ name: v.string() }), response: { 201: User } }, async (ctx) => {
    same<typeof ctx.body, { name: string }>(true);
    return ctx.json({ id: ctx.body.name, kind: 'b', tags: [ctx.body.name] }, 201);
  })
  .put('/ark/:id?', { body: type({ name: 'string', 'age?': 'number' }), response: User }, async (ctx) => {
    same<typeof ctx.body, { name: string; age?: number }>(true);
    same<typeof ctx.params.id, string | undefined>(true);
    return { id: ctx.body.name, kind: 'b', tags: [] };
  })
  .patch(
    '/box',
    { body: Type.Object({ name: Type.String(), n: Type.Optional(Type.Integer()), l: Type.Array(Type.Union([Type.Literal('x'), Type.Null()])) }) },
    (ctx) => {
      same<typeof ctx.body, { name: string; l: ('x' | null)[]; n?: number }>(true);
      return ctx.body;
    },
  )
  .post(
    '/json',
    {
      body: { type: 'object', properties: { a: { type: 'string' }, b: { enum: [1, 2] }, c: { type: 'array', items: { type: 'integer' } } }, required: ['a'] },
      response: { type: 'object', properties: { k: { enum: ['x', 'y'] } }, required: ['k'] },
    },
    (ctx) => {
      same<typeof ctx.body, { a: string; b?: 1 | 2; c?: number[] }>(true);
      return { k: 'x' };
    },
  )
  .delete('/users/:id', { response: { 204: null } }, () => undefined)
  .queue('JOBS', {}, (ctx) => {
    same<typeof ctx.payload, { to: string }>(true);
    ctx.ack();
  })
  .workflow('onboard', { input: z.object({ a: z.number() }), output: z.object({ b: z.number() }) }, async ({ input, step, state }) => {
    const sum = await step.run('sum', () => input.a + state.answer);
    return { b: sum };
  })
  .timer('TICK', { payload: z.object({ n: z.number() }) }, (ctx) => {
    same<typeof ctx.payload, { n: number }>(true);
  })
  .cron('NIGHTLY', (ctx) => ctx.noRetry())
  .onError((error, ctx) => ctx.json({ error: String(error) }, 500))
  .notFound((ctx) => ctx.json({ error: ctx.path }, 404))
  .route('/sub', sub)
  .build();
export default app satisfies PlatformWorker<Env>;
export const plain = platform().build();
same<keyof typeof plain & ('message' | 'timer' | 'scheduled' | 'workflows'), never>(true);

export async function use(): Promise<void> {
  const api = createClient<typeof app>('https://api.example');
  const user = await api.get('/users/:id', { params: { id: 7 }, query: { q: 'x' } });
  if (user.ok) {
    same<typeof user.status, 200>(true);
    same<typeof user.data.kind, 'a' | 'b'>(true);
  } else if (user.status === 404) same<typeof user.data.error, string>(true);
  const seen = await api.get('/plain/:x', { params: { x: 'a' } });
  if (seen.ok) same<typeof seen.data.at, string>(true);
  const inner = await api.get('/sub/x/:y', { params: { y: 'a' } });
  if (inner.ok) same<typeof inner.data.y, string>(true);
  await api.get('/sub');
  const made = await api.post('/users', { body: { name: 'x' } });
  if (made.ok) same<typeof made.data.id, string>(true);
  await api.delete('/users/:id', { params: { id: 'x' } });
  const box = await api.post('/json', { body: { a: 'x', b: 2 } });
  if (box.ok) same<typeof box.data.k, 'x' | 'y'>(true);
  await api.put('/ark/:id?', { body: { name: 'x' } });
}
`;

const mistakes = [
  "platform<Env>().queue('NOPE', {}, () => {});",
  "platform<Env>().timer('JOBS', () => {});",
  "platform<Env>().state(withOrm('KV', {}));",
  "platform().get('/', { response: User }, () => ({ id: 1, kind: 'a', tags: [] }));",
  "platform().get('/', { response: User }, () => ({ id: '', kind: 'c', tags: [] }));",
  "platform().get('/', { response: User }, () => ({ id: '', kind: 'a' }));",
  "platform().get('/', { response: { 200: User } }, (ctx) => ctx.json({ error: 'x' }, 404));",
  "platform().get('/', { response: { 404: Failure } }, (ctx) => ctx.json({ error: 5 }, 404));",
  "platform<Env>().route('/a', sub);",
  "platform().get('/:a', (ctx) => ctx.params.b);",
  "platform().post('/', { body: User }, (ctx) => ctx.body.name);",
  "platform().get('/', { summry: 'x', summary: 5 }, () => 1);",
  "platform().get('/', (ctx) => ctx.state.user);",
  "platform().workflow('w', { output: User }, () => ({ id: 5 }));",
  "cors({ origins: '*' });",
  "rateLimit({ limit: 5, window: 'a minute' });",
  "api.get('/nowhere');",
  "api.get('/users/:id');",
  "api.post('/users', { body: { name: 1 } });",
  "api.post('/users');",
];

const head = `${imports}
const sub = platform<Env, { user: { id: string } }>().get('/', (ctx) => ctx.state.user.id);
const app = platform()
  .get('/users/:id', () => 1)
  .post('/users', { body: z.object({ name: z.string() }) }, () => 1)
  .build();
const api = createClient<typeof app>('');
`;

function check(files: Readonly<Record<string, string>>): Promise<Said> {
  const libraries = ['zod', 'valibot', 'arktype', 'typebox', 'drizzle-orm', '@ark'];
  return checkProject({ 'tsconfig.json': strictSettings, ...files }, ['worker', 'types'], libraries);
}

let said: Said;
before(async () => {
  said = await check({
    'content.ts': content,
    'mistakes.ts': `${head}${mistakes.join('\n')}\n`,
    'many.ts': manyRoutes(500),
  });
});

test('an app with every kind of schema, middleware and event is inferred, and so is its client', () => {
  assert.equal(said('content.ts'), '');
});

test('mistakes are type errors', () => {
  const found = said('mistakes.ts');
  const first = head.split('\n').length;
  assert.deepEqual(
    linesOf(found, 'mistakes.ts').map((line) => mistakes[line - first] ?? `line ${line}`),
    mistakes,
    found,
  );
});

test('a chain of 500 routes type-checks, and so do calls of a client made from it', () => {
  assert.equal(said('many.ts'), '');
});

test('the examples of the README and of the guide type-check', async () => {
  const blocks = async (file: string): Promise<string[]> =>
    [...(await readFile(path.join(root, file), 'utf8')).matchAll(/```ts\n([^]*?)```/g)].map((match) => match[1]!);
  const [app, client] = await blocks('packages/worker/README.md');
  const [guide] = await blocks('docs/framework.md');
  const schema = `import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
export const guests = sqliteTable('guests', { id: integer('id').primaryKey(), name: text('name').notNull() });`;
  const env = `import type { Database, PlatformAuth, QueueBinding, StateBinding } from '@platform-run/types';
declare global {
  interface PlatformEnv { DB: Database; MAIL: QueueBinding; KV: StateBinding; PLATFORM_AUTH: PlatformAuth; vars: Record<string, string> }
}`;
  const files = {
    'env.ts': env,
    'schema.ts': schema,
    'app.ts': app!,
    'client.ts': client!.replace('../worker/src/index.ts', './app.ts'),
    'guide.ts': guide!,
  };
  const examples = await check(files);
  for (const file of Object.keys(files)) assert.equal(examples(file), '');
});

test('the package depends on jose and an optional peer, and is checked without the types of Node', async () => {
  const read = async (file: string): Promise<Record<string, Record<string, unknown>>> =>
    JSON.parse(await readFile(path.join(root, 'packages/worker', file), 'utf8')) as Record<
      string,
      Record<string, unknown>
    >;
  const manifest = await read('package.json');
  assert.deepEqual(manifest['dependencies'], { jose: '6.2.17' });
  assert.deepEqual(Object.keys(manifest['peerDependencies']!), ['drizzle-orm']);
  assert.deepEqual(manifest['peerDependenciesMeta'], { 'drizzle-orm': { optional: true } });
  // A step of `npm run check` holds the package to it.
  assert.deepEqual((await read('tsconfig.json'))['compilerOptions']!['types'], []);
});
