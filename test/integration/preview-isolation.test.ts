// A preview beside production: what it writes, sends and sets stays its own, its database is a
// copy, and all of it goes with its branch, counted. What bindings hold is asked over the private port, as the command
// line asks.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import type { RouteRecord } from '#core/manifest.ts';
import { changeRoute } from '#artifacts/route-records.ts';
import { startPlatformHere, type PlatformHere } from '#test/setup/platform-here.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { until } from '#test/setup/until.ts';

const yaml = `
db: { DB: guests }
state: { KV: kept }
fs: { FILES: uploads }
queue: { MAIL: mail, JOBS: { name: jobs, max_retries: 0 } }
timer: { CLOCK: clock }
workflow: { ORDER: order }
`;
const worker = (name: string): string => `
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === '/write') {
      await env.DB.prepare("INSERT INTO guests VALUES ('${name}')").run();
      await env.KV.put('who', '${name}');
      await env.FILES.put('who', '${name}', { contentType: 'text/plain' });
      await env.MAIL.send({ from: '${name}' });
      await env.JOBS.send({ from: '${name}' });
      await env.CLOCK.set('soon', { afterMs: 1 }, { payload: '${name}' });
      await env.CLOCK.set('later', { afterMs: 600_000 });
      await env.ORDER.trigger('${name}', { id: 'one' });
    }
    if (pathname === '/fill')
      await env.DB.exec("CREATE TABLE IF NOT EXISTS big (bytes BLOB); WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO big SELECT zeroblob(105000) FROM n");
    return Response.json({
      guests: (await env.DB.prepare('SELECT name FROM guests ORDER BY rowid').all()).results.map((row) => row.name),
      who: await env.KV.get('who'),
      mailed: await env.KV.get('mailed'),
      ticked: await env.KV.get('ticked'),
      ran: await env.KV.get('ran'),
    });
  },
  async message({ payload, queueName }, env) {
    if (queueName === 'jobs') throw new Error('cannot');
    await env.KV.put('mailed', (await env.KV.get('mailed') ?? '') + payload.from + ' by ${name} ');
  },
  async timer({ id, payload }, env) { await env.KV.put('ticked', payload + ' by ${name}'); },
  workflows: { order: { async handler({ input, env }) { await env.KV.put('ran', input + ' by ${name}'); } } },
};`;
const migrations = { 'migrations/0001_guests.sql': 'CREATE TABLE guests (name TEXT);' };

/** Fills of 10.5 MB each: as many as make a large database where engines are processes. */
const FILLS = process.env['TEST_PLATFORM'] === 'processes' ? 10 : 1;
let platform: PlatformHere;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
before(async () => {
  database = await createTestDatabase();
  platform = await startPlatformHere({}, {}, { postgres: database });
});
after(async () => {
  await platform.close();
  await database.close();
});

const record = (project: string): RouteRecord =>
  JSON.parse(readFileSync(join(platform.folder, 'routes', `${project}.json`), 'utf8')) as RouteRecord;
const seen = async (host: string): Promise<unknown> => (await platform.fetch(host)).json();
const data = async (
  deployment: string,
  operation: string,
  binding: string | null,
  args: object = {},
): Promise<Record<string, unknown>> => {
  const call = { project: 'shop', deployment, operation, ...(binding === null ? {} : { binding }), args };
  const answer = await platform.ask('/_platform/data', call);
  const body = answer.json() as { result?: Record<string, unknown>; code?: string; error?: string };
  return body.result ?? { status: answer.status, code: body.code, error: body.error };
};
const counts = async (deployment: string): Promise<unknown[]> => {
  const { backlogCount } = await data(deployment, 'queue.stats', 'MAIL');
  const { deadCount } = await data(deployment, 'queue.stats', 'JOBS');
  return [backlogCount, deadCount];
};

test('what a preview writes, sends and sets never touches production, nor the other way round', async () => {
  await platform.deploy('shop', worker('main'), yaml, migrations);
  await until(async () => (await platform.fetch('shop')).status === 200);
  await platform.fetch('shop', '/write');
  const ofMain = {
    guests: ['main'],
    who: 'main',
    mailed: 'main by main ',
    ticked: 'main by main',
    ran: 'main by main',
  };
  await until(async () => JSON.stringify(await seen('shop')) === JSON.stringify(ofMain));
  await platform.deploy('shop', worker('talk'), yaml, migrations, 'talk');
  await until(async () => (await platform.fetch('shop--talk')).status === 200);
  // A copy of its database, and nothing else of it.
  assert.deepEqual(await seen('shop--talk'), { guests: ['main'], who: null, mailed: null, ticked: null, ran: null });
  await platform.fetch('shop--talk', '/write');
  const ofTalk = {
    guests: ['main', 'talk'],
    who: 'talk',
    mailed: 'talk by talk ',
    ticked: 'talk by talk',
    ran: 'talk by talk',
  };
  await until(async () => JSON.stringify(await seen('shop--talk')) === JSON.stringify(ofTalk));
  assert.deepEqual(await seen('shop'), ofMain);
  const { production, branches } = record('shop');
  await until(async () => String(await counts(production!)) === '0,1');
  await until(async () => String(await counts(branches['talk']!)) === '0,1');
  await platform.fetch('shop', '/write');
  await until(async () => ((await seen('shop')) as typeof ofMain).mailed === 'main by main main by main ');
  assert.deepEqual(await seen('shop--talk'), ofTalk);
});

test('the bindings of each are asked from outside, by binding or by resource', async () => {
  const { production, branches } = record('shop');
  const preview = branches['talk']!;
  const names = { sql: 'SELECT name FROM guests WHERE name <> ?1', params: ['main'] };
  const asked = await data(preview, 'db.query', 'DB', names);
  assert.deepEqual([asked['columns'], asked['rows'], asked['truncated']], [['name'], [['talk']], false]);
  assert.deepEqual((await data(production!, 'db.query', 'guests', names))['rows'], []);
  assert.deepEqual((await data(production!, 'db.tables', 'DB'))['tables'], [
    {
      name: 'guests',
      type: 'table',
      sql: 'CREATE TABLE guests (name TEXT)',
      columns: [{ name: 'name', type: 'TEXT', notNull: false, primaryKey: 0 }],
    },
  ]);
  const script = "INSERT INTO guests VALUES ('x'); INSERT INTO nobody VALUES (1)";
  const { status, code, error } = await data(preview, 'db.script', 'DB', { sql: script });
  assert.deepEqual([status, code], [400, 'invalid_argument']);
  assert.match(String(error), /no such table: nobody/);
  assert.equal(((await data(preview, 'db.query', 'DB', names))['rows'] as unknown[]).length, 1);
  assert.deepEqual(await data(preview, 'db.migrations', 'DB'), { applied: ['0001_guests.sql'], pending: [] });
  const copy = await data(preview, 'db.copy', 'DB', { file: join(platform.folder, 'incoming-copy.sqlite') });
  assert.ok((copy['bytes'] as number) > 0);
  for (const file of ['/etc/copy.sqlite', '../copy.sqlite', join(platform.folder, 'incoming-copy.sqlite')])
    assert.equal((await data(preview, 'db.copy', 'DB', { file }))['code'], 'invalid_argument', file);

  await data(preview, 'state.put', 'KV', { key: 'bytes', base64: 'AAE=', metadata: { a: 1 }, expirationTtl: 60 });
  const { entry } = await data(preview, 'state.get', 'KV', { key: 'bytes' });
  const { expiresAt, version: _changes, ...rest } = entry as { expiresAt: number; version: string };
  assert.deepEqual(rest, { key: 'bytes', base64: 'AAE=', metadata: { a: 1 } });
  assert.ok(expiresAt > Date.now());
  assert.deepEqual(await data(production!, 'state.get', 'KV', { key: 'bytes' }), { entry: null });
  const { keys, cursor } = await data(preview, 'state.list', 'KV', { limit: 1 });
  assert.deepEqual([(keys as { name: string }[]).map(({ name }) => name), cursor], [['bytes'], 'YWZ0ZXIgYnl0ZXM']);
  await data(preview, 'state.delete', 'KV', { key: 'bytes' });

  const put = await data(preview, 'fs.put', 'FILES', { key: 'a/b', base64: 'aGVsbG8=', contentType: 'text/plain' });
  assert.equal((put['file'] as { size: number }).size, 5);
  const part = async (offset: number): Promise<unknown> =>
    ((await data(preview, 'fs.get', 'FILES', { key: 'a/b', offset, length: 4 }))['file'] as { base64: string }).base64;
  assert.deepEqual([await part(0), await part(4), await part(5)], ['aGVsbA==', 'bw==', '']);
  assert.deepEqual(await data(production!, 'fs.get', 'FILES', { key: 'a/b', offset: 0, length: 4 }), { file: null });
  const listed = await data(preview, 'fs.list', 'FILES', { delimiter: '/' });
  assert.deepEqual(
    [(listed['files'] as { key: string }[]).map(({ key }) => key), listed['prefixes']],
    [['who'], ['a/']],
  );
  await data(preview, 'fs.delete', 'FILES', { keys: ['a/b'] });

  const dead = await data(preview, 'queue.list', 'JOBS', { dead: true });
  const [letter] = dead['messages'] as { payload: unknown; deadReason: string }[];
  assert.deepEqual([letter!.payload, dead['next']], [{ from: 'talk' }, null]);
  assert.deepEqual(await data(preview, 'queue.redrive', 'JOBS'), { count: 1 });

  assert.deepEqual(((await data(preview, 'resources.list', null))['resources'] as object[]).length, 7);
  for (const [operation, binding, wanted] of [
    ['state.get', 'NONE', 'binding_not_found'],
    ['state.get', 'DB', 'binding_not_found'],
    ['state.get', '__proto__', 'binding_not_found'],
    ['constructor', 'KV', 'bad_request'],
    ['state.get', 'KV', 'invalid_argument'],
  ] as const)
    assert.equal((await data(preview, operation, binding))['code'], wanted, operation);
});

test('a large copy is whole, and all that a branch had goes with it, counted', async (t: TestContext) => {
  // Each has its own CPU budget, which a busy machine makes short.
  for (let part = 0; part < FILLS; part++) assert.equal((await platform.fetch('shop', '/fill')).status, 200);
  await platform.deploy('shop', worker('large'), yaml, migrations, 'large');
  const artifact = record('shop').deployments[record('shop').branches['large']!]!.artifact;
  const startedAt = performance.now();
  const answer = await platform.ask('/_platform/migrate', { project: 'shop', artifact, branch: 'large' });
  const ms = Math.round(performance.now() - startedAt);
  const [{ copied } = { copied: false }] = (answer.json() as { databases: { copied: boolean }[] }).databases;
  const { result } = (
    await platform.ask('/_platform/data', {
      project: 'shop',
      deployment: record('shop').branches['large'],
      operation: 'db.query',
      binding: 'DB',
      args: { sql: 'SELECT sum(length(bytes)) FROM big' },
    })
  ).json() as { result: { rows: unknown[][] } };
  assert.deepEqual([copied, result.rows[0]![0]], [true, FILLS * 10_500_000]);
  t.diagnostic(`a copy of ${result.rows[0]![0]} bytes took ${ms} ms`);

  const { branches, deployments } = record('shop');
  const preview = branches['talk']!;
  await until(async () => String(await counts(preview)) === '0,1');
  const { bindings } = JSON.parse(
    readFileSync(join(platform.folder, 'artifacts', deployments[preview]!.artifact, 'manifest.json'), 'utf8'),
  ) as { bindings: object };
  changeRoute(platform.folder, 'shop', ({ branches: { talk: _gone, ...others }, ...rest }) => ({
    ...rest,
    branches: others,
    deployments: Object.fromEntries(Object.entries(rest.deployments).filter(([, { branch }]) => branch !== 'talk')),
  }));
  const removed = await platform.ask('/_platform/remove-branch', {
    project: 'shop',
    branch: 'talk',
    bindings: [bindings],
  });
  assert.deepEqual(removed.json(), {
    removed: { databases: 1, stateKeys: 4, files: 1, messages: 1, timers: 1, runs: 1, sandboxes: 0, objects: 0 },
  });
  const main = (await seen('shop')) as { guests: string[]; who: string };
  assert.deepEqual([main.guests, main.who], [['main', 'main'], 'main']);
  assert.deepEqual(await counts(record('shop').production!), [0, 2]);
});
