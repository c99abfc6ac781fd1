// A database whose disk has less than `DB_DISK_FREE_BYTES_MIN` free: it grows no further, and is read and emptied as
// before.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { Connection } from '#runtime/databases/sqlite/connection.ts';
import { query, startFor } from '#test/setup/databases.ts';

test('what needs a new page fails as on a full disk, and what does not goes on', () => {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  const connection = new Connection({
    path: join(folder, 'main.sqlite'),
    limits: defaultLimits.database,
    synchronous: 'normal',
  });
  connection.ownScript("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(100000)), ('small')");
  connection.bytesMax = 0;
  assert.throws(() => connection.own('INSERT INTO t VALUES (zeroblob(200000))'), /database or disk is full/);
  assert.deepEqual(connection.own('SELECT count(*) FROM t'), [[2]]);
  connection.own('DELETE FROM t WHERE length(a) > 100');
  // What was deleted makes room.
  connection.own('INSERT INTO t VALUES (zeroblob(50000))');
  connection.bytesMax = 1_000_000;
  connection.own('INSERT INTO t VALUES (zeroblob(300000))');
  assert.deepEqual(connection.own('SELECT count(*) FROM t'), [[3]]);
  connection.close();
  rmSync(folder, { recursive: true });
});

test('the service looks at the disk before each request', async (t) => {
  const { client } = await startFor(t, { diskFreeBytesMin: 900_000_000_000_000 });
  assert.deepEqual(await query(client, 'CREATE TABLE t (a)'), ['SQLITE_FULL', 'database or disk is full']);
  assert.deepEqual(await query(client, 'SELECT 1'), [[1]]);
});
