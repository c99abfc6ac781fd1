// The account of a pool is not in the isolate of the worker that uses it, nor in that of another worker: the heaps of
// all isolates are searched, beside one that has the account as a variable.
import { heapOf, isolates } from '#test/setup/inspected-isolates.ts';
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { startPostgresOnTcp } from '#test/setup/client-servers.ts';

const reader = `
import pg from 'pg';
globalThis.marks = {};
export default {
  async fetch(request, env) {
    globalThis.marks['mark-of-this-isolate-' + new URL(request.url).hostname] = true;
    if (env.PG === undefined) return Response.json(Object.keys(env.vars));
    const client = new pg.Client({ connectionString: env.PG.connectionString });
    await client.connect();
    const { rows } = await client.query('SELECT current_user AS account');
    await client.end();
    return Response.json(rows);
  },
};
`;

test('the account of a pool is in no heap but that of a worker that has it as a variable', async (t) => {
  // After the module that gives the engine's isolates an inspector.
  const { startHandler } = await import('#test/setup/handler.ts');
  const server = await startPostgresOnTcp();
  t.after(() => server.close());
  const { user, password, database, port } = server;
  const name = `account-${randomBytes(8).toString('hex')}`;
  const url = `postgres://${user}:${password}@localhost:${port}/${database}?application_name=${name}`;
  const worker = (yaml: string, vars: Readonly<Record<string, string>>) =>
    ({ files: { 'src/index.js': reader }, yaml: `main: src/index.js\n${yaml}`, vars, plan: 'enterprise' }) as const;
  const handler = await startHandler({
    pooled: worker('hyperdrive: { PG: DATABASE_URL }\n', { DATABASE_URL: url }),
    other: worker('', {}),
    plain: worker('', { DATABASE_URL: url }),
  });
  t.after(() => handler.close());
  assert.equal((await handler.fetch('pooled')).text, JSON.stringify([{ account: user }]));
  assert.equal((await handler.fetch('other')).text, '[]');
  assert.equal((await handler.fetch('plain')).text, '["DATABASE_URL"]');
  const heaps = await Promise.all(isolates.filter((isolate) => !isolate.isDisposed).map(heapOf));
  const found = (project: string): string => {
    const heap = heaps.find((text) => text.includes(`mark-of-this-isolate-${project}.localhost`));
    assert.ok(heap, project);
    return [password, name].filter((secret) => heap.includes(secret)).join();
  };
  assert.equal(found('plain'), `${password},${name}`);
  assert.equal(found('pooled'), '');
  assert.equal(found('other'), '');
});
