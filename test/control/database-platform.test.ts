// Databases on the platform as it runs in production: supervisor, database service and engines, each of which may be
// killed.
import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';

const worker = `
export default {
  async fetch(request, { DB }) {
    try { return Response.json((await DB.prepare(await request.text()).all()).results); }
    catch (error) { return new Response(error.message, { status: 500 }); }
  },
};`;

let platform: TestPlatform;

before(async () => {
  platform = await startPlatform({});
  await platform.deploy('shop', worker, 'db:\n  DB: orders\n');
  await served();
});
after(() => platform.close());

/** A request without a body is no SQL. */
function served(): Promise<void> {
  return platform.answers('shop', 'D1_ERROR: there is no statement in the SQL text: SQLITE_ERROR');
}

async function query(sql: string): Promise<string> {
  return (await platform.fetch('shop', '/', { method: 'POST', body: sql })).text;
}

test('a worker keeps rows in a file of its project, below the data folder', async () => {
  assert.equal(await query('CREATE TABLE t (a)'), '[]');
  assert.equal(await query("INSERT INTO t VALUES ('kept') RETURNING a"), '[{"a":"kept"}]');
  assert.ok((await stat(join(platform.folder, 'databases/shop/orders.sqlite'))).isFile());
  const [service] = (await platform.state()).services;
  assert.deepEqual([service?.name, service?.state], ['databases', 'ready']);
});

test('the database service is started again when it is killed, and nothing is lost', async () => {
  const [service] = (await platform.state()).services;
  process.kill(service?.pid as number, 'SIGKILL');
  await platform.logged((line) => line['service'] === 'databases' && line['msg'] === 'Service exited: restarting');
  assert.equal(await query('SELECT a FROM t'), '[{"a":"kept"}]');
});

test('an engine that is replaced finds the same databases', async () => {
  const restarted = platform.restarted();
  process.kill(platform.enginePid, 'SIGKILL');
  await restarted;
  await served();
  assert.equal(await query('SELECT a FROM t'), '[{"a":"kept"}]');
});
