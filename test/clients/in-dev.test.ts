// pg and postgres in `platform dev`: over sockets, and over a pool whose URL is in .env.
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startPostgresOnTcp, type TestPostgres } from '#test/setup/client-servers.ts';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';

let server: TestPostgres;
let dev: TestDev;
// Below the checkout's own node_modules, for the packages.
const folder = mkdtempSync(join(import.meta.dirname, '../../node_modules/.test-'));

before(async () => {
  server = await startPostgresOnTcp();
  const { user, password, database, port } = server;
  for (const name of ['pools', 'postgres'])
    copyFileSync(join(import.meta.dirname, `packages/workers/${name}.js`), join(folder, `${name}.js`));
  writeFileSync(
    join(folder, 'index.js'),
    `import pools from './pools.js';
import direct from './postgres.js';
export default { fetch: (request, env) => (new URL(request.url).searchParams.has('port') ? direct : pools).fetch(request, env) };`,
  );
  writeFileSync(join(folder, 'platform.yaml'), 'name: shop\nmain: index.js\nhyperdrive: { PG: DATABASE_URL }\n');
  writeFileSync(
    join(folder, '.env'),
    `PG_USER=${user}\nPG_PASSWORD=${password}\nPG_DATABASE=${database}\nDATABASE_URL='postgres://${user}:${password}@localhost:${port}/${database}'\n`,
  );
  dev = await startDevHere(folder, ['--no-watch']);
});
after(async () => {
  await dev.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

test('pg and postgres work in dev, over sockets and over a pool', async () => {
  const asked = async (path: string): Promise<unknown> => {
    const { status, text } = await dev.fetch(path);
    assert.equal(status, 200, text);
    return JSON.parse(text) as unknown;
  };
  const ofPg = { sum: 42, kept: ['one', 'two'], prepared: ['one', 'two'], failed: '42703', news: ['news', 'hello'] };
  const ofPostgres = { sum: 42, names: ['Ada', 'Alan'], failed: '42703', news: 'hello', cursor: [2, 2, 1] };
  assert.deepEqual(await asked('/pg'), { ...ofPg, big: 3_000_000 });
  assert.deepEqual(await asked('/postgres'), ofPostgres);
  assert.deepEqual(await asked(`/pg?port=${server.port}`), { ...ofPg, big: 3_000_000, secure: false });
  assert.deepEqual(await asked(`/postgres?port=${server.port}`), ofPostgres);
});

test('the variable of a pool is not in the worker', async () => {
  const { variable } = (await dev.fetch('/describe')).json() as { variable: string[] };
  assert.deepEqual(variable, ['undefined', 'undefined', 'undefined']);
});
