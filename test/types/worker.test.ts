// packages/worker as a user's project sees it, to the type checker: what is inferred, what is refused, and a chain of
// 500 routes.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { manyRoutes } from '#test/unit/packages/worker/many-routes.ts';

const root = path.resolve(import.meta.dirname, '../..');

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

async function project(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'worker-types-'));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(path.join(folder, 'node_modules/@platform-run'), { recursive: true });
  for (const name of ['worker', 'types'])
    await symlink(path.join(root, 'packages', name), path.join(folder, 'node_modules/@platform-run', name));
  for (const name of ['zod', 'valibot', 'arktype', 'typebox', 'drizzle-orm', '@ark'])
    await symlink(path.join(root, 'node_modules', name), path.join(folder, 'node_modules', name));
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024'],
    module: 'esnext',
    moduleResolution: 'bundler',
    types: ['@platform-run/types'],
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  };
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  return folder;
}

/** What TypeScript says about a project; empty when it is content. */
function check(folder: string): Promise<string> {
  return new Promise((resolve) => {
    const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
    execFile(
      process.execPath,
      [compiler, '-p', folder],
      { cwd: folder, maxBuffer: 2 ** 24 },
      (error, stdout, stderr) => {
        resolve(error === null ? '' : stdout + stderr || error.message);
      },
    );
  });
}

test('an app with every kind of schema, middleware and event is inferred, and so is its client', async (t) => {
  assert.equal(await check(await project(t, { 'app.ts': content })), '');
});

test('mistakes are type errors', async (t) => {
  const head = `${imports}
const sub = platform<Env, { user: { id: string } }>().get('/', (ctx) => ctx.state.user.id);
const app = platform()
  .get('/users/:id', () => 1)
  .post('/users', { body: z.object({ name: z.string() }) }, () => 1)
  .build();
const api = createClient<typeof app>('');
`;
  const found = await check(await project(t, { 'app.ts': `${head}${mistakes.join('\n')}\n` }));
  const first = head.split('\n').length;
  const lines = [...found.matchAll(/^app\.ts\((\d+),/gm)].map(
    (match) => mistakes[Number(match[1]) - first] ?? `line ${match[1]}`,
  );
  assert.deepEqual([...new Set(lines)], mistakes);
});

test('the examples of the README and of the guide type-check', async (t) => {
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
  assert.equal(await check(await project(t, files)), '');
});

test('a chain of 500 routes type-checks, and so do calls of a client made from it', async (t) => {
  assert.equal(await check(await project(t, { 'app.ts': manyRoutes(500) })), '');
});

test('the package depends on jose and an optional peer, and needs no types of Node', async () => {
  const folder = path.join(root, 'packages/worker');
  const manifest = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as Record<
    string,
    Record<string, unknown>
  >;
  assert.deepEqual(manifest['dependencies'], { jose: '6.2.17' });
  assert.deepEqual(Object.keys(manifest['peerDependencies']!), ['drizzle-orm']);
  assert.deepEqual(manifest['peerDependenciesMeta'], { 'drizzle-orm': { optional: true } });
  assert.equal(await check(folder), '');
});
