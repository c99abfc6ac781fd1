// Every binding as production has it: engine, broker, database service, Postgres. As processes there are two engines.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { UsageBatch } from '#core/usage-row.ts';
import { startPlatformHere, type PlatformHere } from '#test/setup/platform-here.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import type { TestResponse } from '#test/setup/handler.ts';
import { until } from '#test/setup/until.ts';

const yaml = `
db: { DB: guests }
state: { KV: counters }
fs: { FILES: uploads }
cache: { CACHE: pages }
queue: { MAIL: mail, JOBS: { name: jobs, max_retries: 0, dead_letter: lost_jobs }, LOST: lost_jobs }
timer: { CLOCK: clock }
workflow: { ORDER: order }
auth: { binding: PLATFORM_AUTH }
`;
const worker = `
const text = (value) => new Response(JSON.stringify(value ?? null), { headers: { 'content-type': 'application/json' } });
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    switch (pathname) {
      case '/db':
        await env.DB.exec('CREATE TABLE IF NOT EXISTS guests (name TEXT)');
        await env.DB.prepare('INSERT INTO guests VALUES (?)').bind('ada').run();
        return text((await env.DB.prepare('SELECT count(*) AS n FROM guests').first('n')));
      case '/refused': return text(await env.DB.prepare('SELECT * FROM none').all().catch((error) => error.message));
      case '/state': return text(await env.KV.update('visits', { $inc: { n: 1 } }));
      case '/seen': return text(await env.KV.get(searchParams.get('key'), 'json'));
      case '/files': await env.FILES.put('a', 'stored'); return text([await (await env.FILES.get('a')).text(), await env.FILES.createSignedUrl('a')]);
      case '/cache': if (request.method === 'PUT') await env.CACHE.set('k', 'v', { ttl: 60 }); return text(await env.CACHE.get('k'));
      case '/caches': {
        const hit = await caches.default.match('https://cached.example/');
        if (hit) return text(await hit.text());
        await caches.default.put('https://cached.example/', new Response('cached', { headers: { 'cache-control': 'max-age=60' } }));
        return text(null);
      }
      case '/job': return text(await env.JOBS.send({ job: 1 }));
      case '/send': return text(await env.MAIL.send({ to: 'ada' }));
      case '/timer': return text(await env.CLOCK.set('soon', { afterMs: 10 }, { payload: 'tick' }));
      case '/run': return text(await env.ORDER.trigger({ item: 7 }, { id: 'order-7' }));
      case '/session': return text(await env.PLATFORM_AUTH.getSession(request));
    }
  },
  async message({ payload, id, queueName, attempt }, env) {
    if (queueName === 'jobs') throw new Error('cannot');
    await env.KV.setJSON(queueName === 'mail' ? 'mailed' : queueName, queueName === 'mail' ? payload : { payload, attempt });
  },
  async timer({ id, payload }, env) { await env.KV.setJSON('ticked', [id, payload]); },
  workflows: {
    order: {
      async handler({ input, step, env }) {
        const doubled = await step.run('double', () => input.item * 2);
        await step.sleep(20);
        await step.run('save', () => env.KV.setJSON('ordered', doubled));
        return doubled;
      },
    },
  },
};`;

let platform: PlatformHere;
let database: Awaited<ReturnType<typeof createTestDatabase>>;

before(async () => {
  database = await createTestDatabase();
  platform = await startPlatformHere({}, { PUBLIC_PROTOCOL: 'http' }, { postgres: database, engines: 2 });
  await platform.deploy('shop', worker, yaml);
  await served('shop');
});
after(async () => {
  await platform.close();
  await database.close();
});

/** The route is followed: the first answers may still be that nobody is there. */
async function served(project: string): Promise<void> {
  await until(async () => (await platform.fetch(project, '/seen?key=none')).status !== 404);
}

async function json(path: string, options?: Parameters<PlatformHere['fetch']>[2]): Promise<unknown> {
  const response: TestResponse = await platform.fetch('shop', path, options);
  assert.equal(response.status, 200, `${path}: ${response.text}`);
  return response.json();
}

/** What a handler wrote under a key, once it has. */
function seen(key: string): Promise<unknown> {
  return until(() => json(`/seen?key=${key}`));
}

test('db, state, files and the cache keep what a worker puts into them', async () => {
  assert.equal(await json('/db'), 1);
  assert.equal(await json('/db'), 2);
  assert.deepEqual(await json('/state'), { n: 1 });
  assert.deepEqual(await json('/state'), { n: 2 });
  const [stored, address] = (await json('/files')) as [string, string];
  assert.equal(stored, 'stored');
  assert.equal((await platform.fetch('shop', new URL(address).pathname)).text, 'stored');
  assert.equal(await json('/cache', { method: 'PUT' }), 'v');
  assert.equal(await json('/cache'), 'v');
  assert.equal(await json('/caches'), null);
  assert.equal(await json('/caches'), 'cached');
});

test('calls of databases, state and files are counted by resource, refused statements as failures', async () => {
  assert.match((await json('/refused')) as string, /no such table: none/);
  const counted = new Map<string, { calls: number; failures: number; measured: number }>();
  let acknowledged: string | null = null;
  await until(async () => {
    const batch = (await platform.ask('/_platform/usage', { acknowledged })).json() as UsageBatch;
    acknowledged = batch.id;
    for (const { kind, route, invocations, failures, answer } of batch.rows) {
      const before = counted.get(`${kind} ${route}`) ?? { calls: 0, failures: 0, measured: 0 };
      counted.set(`${kind} ${route}`, {
        calls: before.calls + invocations,
        failures: before.failures + failures,
        measured: before.measured + answer.counts.reduce((sum, count) => sum + count, 0),
      });
    }
    return (counted.get('db guests')?.failures ?? 0) > 0 && counted.has('fs uploads');
  });
  // Twice three statements and a refused one; a file that was put, got and signed.
  assert.deepEqual(counted.get('db guests'), { calls: 7, failures: 1, measured: 7 });
  assert.deepEqual(counted.get('fs uploads'), { calls: 3, failures: 0, measured: 3 });
  const { calls, failures } = counted.get('state counters')!;
  assert.ok(calls >= 2 && failures === 0, `${calls} ${failures}`);
});

test('a message, a timer and a workflow reach their handlers', async () => {
  await json('/send');
  await json('/timer');
  assert.deepEqual(await json('/run'), { executionId: 'order-7' });
  assert.deepEqual(await seen('mailed'), { to: 'ada' });
  assert.deepEqual(await seen('ticked'), ['soon', 'tick']);
  assert.equal(await seen('ordered'), 14);
});

test('a queue has the attempts and the dead letters that platform.yaml says', async () => {
  await json('/job');
  assert.deepEqual(await seen('lost_jobs'), { payload: { job: 1 }, attempt: 1 });
});

test('migrations are applied before a deployment serves, and what is wrong with one is told', async () => {
  const notes = (body: string): string => `export default { async fetch(request, { DB }) { ${body} } };`;
  const list = 'return Response.json((await DB.prepare("SELECT * FROM notes").all()).results);';
  await platform.deploy('notes', notes(list), 'db: { DB: notes }\n', {
    'migrations/0001_notes.sql': "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('first');",
  });
  await served('notes');
  assert.deepEqual((await platform.fetch('notes')).json(), [{ text: 'first' }]);
  await platform.deploy('notes', notes(`const changed = 1; ${list}`), 'db: { DB: notes }\n', {
    'migrations/0001_notes.sql': "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('first');",
    'migrations/0002_more.sql': 'ALTER TABLE notes ADD COLUMN stars INTEGER DEFAULT 5;',
  });
  await until(async () => (await platform.fetch('notes')).text.includes('stars'));
  assert.deepEqual((await platform.fetch('notes')).json(), [{ text: 'first', stars: 5 }]);

  await platform.deploy('broken', notes(list), 'db: { DB: broken }\n', {
    'migrations/0001_typo.sql': 'CREATE TABEL notes (text TEXT);',
  });
  await served('broken');
  const refused = await platform.fetch('broken');
  assert.equal(refused.status, 503);
  assert.match(refused.text, /its migrations failed: .*0001_typo\.sql/);
});

test('a preview works on copies of the databases, with its own migrations, and has users of its own', async () => {
  const code = `export default { async fetch(request, { DB, PLATFORM_AUTH }) {
    const { pathname } = new URL(request.url);
    if (pathname === '/users') return Response.json((await PLATFORM_AUTH.listUsers()).users.map(({ email }) => email));
    if (request.method === 'POST') await DB.prepare('INSERT INTO wishes (text) VALUES (?)').bind(pathname).run();
    return Response.json((await DB.prepare('SELECT * FROM wishes ORDER BY rowid').all()).results);
  } };`;
  const bindings = 'db: { DB: wishes }\nauth: { binding: PLATFORM_AUTH }\n';
  const first = { 'migrations/0001_wishes.sql': 'CREATE TABLE wishes (text TEXT);' };
  const get = async (host: string, path = '/', method = 'GET'): Promise<unknown> => {
    const answer = await platform.fetch(host, path, { method });
    assert.equal(answer.status, 200, answer.text);
    return answer.json();
  };
  await platform.deploy('wishes', code, bindings, first);
  await served('wishes');
  assert.deepEqual(await get('wishes', '/production', 'POST'), [{ text: '/production' }]);

  await platform.deploy(
    'wishes',
    code,
    bindings,
    { ...first, 'migrations/0002_stars.sql': 'ALTER TABLE wishes ADD stars INT;' },
    'login',
  );
  await served('wishes--login');
  // Both engines at once: one copy is made.
  const both = await Promise.all([1, 2, 3, 4].map(() => get('wishes--login')));
  assert.deepEqual(
    both,
    Array.from({ length: 4 }, () => [{ text: '/production', stars: null }]),
  );
  await get('wishes--login', '/preview', 'POST');
  assert.deepEqual(await get('wishes'), [{ text: '/production' }]);
  assert.deepEqual(await get('wishes--login'), [
    { text: '/production', stars: null },
    { text: '/preview', stars: null },
  ]);

  const body = JSON.stringify({ email: 'preview@example.org', password: 'password1' });
  const up = await platform.fetch('wishes--login', '/auth/signup', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(up.status, 200, up.text);
  assert.deepEqual(await get('wishes--login', '/users'), ['preview@example.org']);
  assert.deepEqual(await get('wishes', '/users'), []);
});

test('what a preview keeps, caches, sends and sets is its own, and reaches its branch', async () => {
  const code = (version: string): string => `
    const text = (value) => Response.json(value ?? null);
    const seen = (env, what) => env.KV.update('seen', { $push: { all: '${version} ' + what } });
    export default {
      async fetch(request, env) {
        const { pathname } = new URL(request.url);
        if (pathname === '/version') return text('${version}');
        if (pathname === '/seen') return text(await env.KV.get('seen', 'json'));
        if (pathname === '/kept') {
          const file = await env.FILES.get('a');
          const page = await caches.default.match('https://cached.example/');
          return text([await env.KV.get('a'), file && await file.text(), await env.CACHE.get('a'), page ? await page.text() : null]);
        }
        if (pathname === '/keep') {
          await env.KV.put('a', '${version}');
          await env.FILES.put('a', '${version}');
          await env.CACHE.set('a', '${version}');
          await caches.default.put('https://cached.example/', new Response('${version}', { headers: { 'cache-control': 'max-age=60' } }));
          return text(await env.FILES.createSignedUrl('a'));
        }
        if (pathname === '/metrics') return text((await env.JOBS.metrics()).backlogCount);
        if (pathname === '/begin') {
          await env.MAIL.send('plain');
          await env.JOBS.send('refused');
          await env.DB.transaction(async (tx) => { await tx.exec('CREATE TABLE IF NOT EXISTS t (a)'); await tx.send(env.MAIL, 'with a transaction'); });
          await env.CLOCK.set('soon', { afterMs: 10 });
          return text(await env.ORDER.trigger({}, { id: 'one' }));
        }
      },
      async message({ queueName, payload }, env) {
        if (queueName === 'jobs') throw new Error('cannot');
        await seen(env, queueName + ': ' + payload);
      },
      async timer({ id }, env) { await seen(env, 'timer: ' + id); },
      workflows: { order: { async handler({ step, env }) { await step.run('seen', () => seen(env, 'workflow')); } } },
    };`;
  const declared = `
db: { DB: orders }
state: { KV: kept }
fs: { FILES: kept }
cache: { CACHE: kept }
queue: { MAIL: mail, JOBS: { name: jobs, max_retries: 0, dead_letter: lost_jobs }, LOST: lost_jobs }
timer: { CLOCK: clock }
workflow: { ORDER: order }
`;
  const get = async (host: string, path: string): Promise<unknown> => {
    const answer = await platform.fetch(host, path);
    assert.equal(answer.status, 200, answer.text);
    return answer.json();
  };
  const events = async (host: string): Promise<string[]> =>
    until(async () => {
      const { all } = ((await get(host, '/seen')) ?? { all: [] }) as { all: string[] };
      return all.length === 5 ? all.toSorted() : null;
    }) as Promise<string[]>;
  const expected = (version: string): string[] =>
    ['lost_jobs: refused', 'mail: plain', 'mail: with a transaction', 'timer: soon', 'workflow'].map(
      (what) => `${version} ${what}`,
    );

  await platform.deploy('orders', code('production'), declared);
  await served('orders');
  await get('orders', '/keep');
  await get('orders', '/begin');
  assert.deepEqual(await events('orders'), expected('production'));

  await platform.deploy('orders', code('first'), declared, {}, 'login');
  await served('orders--login');
  assert.deepEqual(await get('orders--login', '/kept'), [null, null, null, null]);
  const address = (await get('orders--login', '/keep')) as string;
  assert.deepEqual(await get('orders--login', '/kept'), ['first', 'first', 'first', 'first']);
  assert.equal((await platform.fetch('orders--login', new URL(address).pathname)).text, 'first');
  assert.deepEqual(await get('orders', '/kept'), ['production', 'production', 'production', 'production']);
  // The ids of timer and run are those that production used.
  await get('orders--login', '/begin');
  assert.deepEqual(await events('orders--login'), expected('first'));
  assert.deepEqual(await events('orders'), expected('production'));

  // A later deployment of the branch goes on with it, and gets what comes from now on.
  await platform.deploy('orders', code('second'), declared, {}, 'login');
  await until(async () => (await get('orders--login', '/version')) === 'second');
  assert.deepEqual(await get('orders--login', '/kept'), ['first', 'first', 'first', 'first']);
});

test('visitors sign in, and every engine knows their session', async () => {
  const up = await platform.fetch('shop', '/auth/signup', {
    method: 'POST',
    body: JSON.stringify({ email: 'ada@example.org', password: 'password1' }),
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(up.status, 200, up.text);
  const cookie = String(up.headers['set-cookie']?.[0]).split(';')[0] as string;
  for (let request = 0; request < 4; request++) {
    const session = (await json('/session', { headers: { cookie } })) as { user: { email: string } };
    assert.equal(session.user.email, 'ada@example.org');
  }
});
