// Databases in `platform dev`: migrations are applied as they are saved, and what is stored is there after a restart.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';
import { until } from '#test/setup/until.ts';

let folder: string;
let dev: TestDev;

const worker = `
export default {
  async fetch(request, { DB, MAIL }) {
    const text = await request.text();
    try {
      if (text.startsWith('send ')) return Response.json(await DB.transaction((tx) => tx.send(MAIL, text.slice(5))));
      return Response.json((await DB.prepare(text).all()).results);
    }
    catch (error) { return new Response(error.message); }
  },
  message: ({ payload }) => console.log('came', payload),
};`;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platform-dev-'));
  await mkdir(join(folder, 'src'));
  await mkdir(join(folder, 'migrations'));
  await writeFile(join(folder, 'src/index.ts'), worker);
  await writeFile(join(folder, 'platform.yaml'), 'db:\n  DB: guests\nqueue:\n  MAIL: mail\n');
  await writeFile(
    join(folder, 'migrations/0001_guests.sql'),
    'CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT);',
  );
  dev = await startDevHere(folder);
});
after(async () => {
  await dev.close();
  await rm(folder, { recursive: true, force: true });
});

async function query(sql: string): Promise<string> {
  return (await dev.fetch('/', { method: 'POST', body: sql })).text;
}

test('migrations are applied before the first request, and what is stored stays', async () => {
  assert.equal(await query("INSERT INTO guests (name) VALUES ('ann') RETURNING id, name"), '[{"id":1,"name":"ann"}]');
  await dev.close();
  dev = await startDevHere(folder);
  assert.equal(await query('SELECT name FROM guests'), '[{"name":"ann"}]');
  assert.ok((await stat(join(folder, '.platform/dev/databases/local/guests.sqlite'))).isFile());
});

test('a message of a transaction is delivered', async () => {
  assert.match(await query('send hello'), /^\{"messageId":"[0-9a-f-]{36}"\}$/);
  await dev.printed(/came hello/);
});

test('a migration that fails is shown with its line, and one that is saved is applied', async () => {
  await writeFile(join(folder, 'migrations/0002_age.sql'), '-- more\nALTER TABLE nobody ADD COLUMN age INTEGER;');
  await dev.printed(/Migration 0002_age\.sql, line 2: no such table: nobody/);
  await writeFile(join(folder, 'migrations/0002_age.sql'), 'ALTER TABLE guests ADD COLUMN age INTEGER;');
  await until(async () => {
    const found = await query('SELECT age FROM guests');
    if (found === '[{"age":null}]') return true;
    assert.equal(found, 'D1_ERROR: no such column: age at offset 7: SQLITE_ERROR');
    return false;
  });
});

test('a migration file that is still empty is none yet', async () => {
  const before = dev.output.split('Reloaded').length;
  await writeFile(join(folder, 'migrations/0003_city.sql'), '');
  await until(async () => dev.output.split('Reloaded').length > before);
  await writeFile(join(folder, 'migrations/0003_city.sql'), 'ALTER TABLE guests ADD COLUMN city TEXT;');
  await until(async () => (await query('SELECT city FROM guests')) === '[{"city":null}]');
});
