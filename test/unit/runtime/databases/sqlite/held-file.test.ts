// A file that another process writes to, as an import does: reads go on, writes wait in their order, and are refused
// when that takes too long.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { startFor, query } from '#test/setup/databases.ts';

test('writes wait for another process in their order, and reads do not', async (t) => {
  const { client, directory } = await startFor(t);
  await query(client, 'CREATE TABLE seen (n)');
  const other = new DatabaseSync(join(directory, 'shop', 'main.sqlite'));
  other.exec('BEGIN IMMEDIATE; INSERT INTO seen VALUES (0)');
  const writes = Array.from({ length: 50 }, (_, n) =>
    query(client, `INSERT INTO seen VALUES (${n + 1})${n % 2 === 0 ? ' RETURNING n' : ''}`),
  );
  let isAnswered = false;
  void Promise.race(writes).then(() => (isAnswered = true));
  for (let look = 0; look < 20; look++) assert.deepEqual(await query(client, 'SELECT count(*) FROM seen'), [[0]]);
  assert.equal(isAnswered, false);
  other.exec('COMMIT');
  other.close();
  assert.deepEqual((await Promise.all(writes)).slice(0, 2), [[[1]], []]);
  assert.deepEqual(
    await query(client, 'SELECT n FROM seen ORDER BY rowid'),
    Array.from({ length: 51 }, (_, n) => [n]),
  );
});

test('who waits for another process longer than its bound is refused, and one too many at once', async (t) => {
  const { client, directory } = await startFor(t, { waitMs: 300, waitingMax: 3 });
  await query(client, 'CREATE TABLE seen (n)');
  const other = new DatabaseSync(join(directory, 'shop', 'main.sqlite'));
  other.exec('BEGIN IMMEDIATE');
  const answers = await Promise.all(
    Array.from({ length: 5 }, (_, n) => query(client, `INSERT INTO seen VALUES (${n})`)),
  );
  const codes = answers.map((answer) => (answer as string[])[0]);
  assert.deepEqual(codes, ['SQLITE_BUSY', 'SQLITE_BUSY', 'SQLITE_BUSY', 'SQLITE_BUSY', 'SQLITE_BUSY']);
  assert.match(String((answers[4] as string[])[1]), /more than 3 requests wait/);
  other.exec('ROLLBACK');
  other.close();
  assert.deepEqual(await query(client, 'INSERT INTO seen VALUES (7) RETURNING n'), [[7]]);
});
