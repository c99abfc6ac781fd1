// Tables that are read as a whole for a backup, at the sizes where the client holds the server back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgres } from '#postgres/connection.ts';
import { dumpTables } from '#postgres/dump.ts';
import { openSql } from '#postgres/sql.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';

const KB = 1024;

for (const bytes of [63 * KB, 64 * KB, 70 * KB, 200 * KB])
  test(`a table whose last row has ${bytes / KB} KB is read to its end, and so are those after it`, async () => {
    const database = await createTestDatabase();
    const owner = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
    const sql = openSql({ url: database.url, name: 'test', connectionsMax: 2 });
    try {
      await owner.all('CREATE TABLE control.a_row (text text)');
      await owner.all(`INSERT INTO control.a_row VALUES (repeat('x', $1::int))`, bytes);
      const sizes = new Map<string, number>();
      await dumpTables(sql, async ({ name }, rows) => {
        let size = 0;
        for await (const chunk of rows) size += chunk.length;
        sizes.set(name, size);
      });
      assert.equal(sizes.get('control.a_row'), bytes + 1);
      assert.ok([...sizes.keys()].at(-1)! > 'control.a_row', 'there is a table behind it');
    } finally {
      await sql.end();
      await owner.close();
      await database.close();
    }
  });

test('a table that nobody keeps ends the reading with the reason', async () => {
  const database = await createTestDatabase();
  const owner = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
  const sql = openSql({ url: database.url, name: 'test', connectionsMax: 2 });
  try {
    await owner.all('CREATE TABLE control.a_row (text text)');
    await owner.all(`INSERT INTO control.a_row SELECT repeat('x', 100000) FROM generate_series(1, 50)`);
    const reading = dumpTables(sql, async ({ name }, rows) => {
      if (name === 'control.a_row') for await (const _ of rows) throw new Error('the disk is full');
      else for await (const _ of rows);
    });
    await assert.rejects(reading, /the disk is full/);
  } finally {
    await sql.end({ timeout: 1 });
    await owner.close();
    await database.close();
  }
});
