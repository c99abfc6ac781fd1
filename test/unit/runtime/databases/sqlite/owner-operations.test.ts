// Copies of a database to other files, as for an export: how many there are at a time, and the room that they need.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { FreeSpace } from '#core/process/free-space.ts';
import { StorageGuard } from '#core/storage-left.ts';
import { ops } from '#runtime/databases/protocol/frames.ts';
import { backupTo } from '#runtime/databases/sqlite/copies.ts';
import { DatabaseFile } from '#runtime/databases/sqlite/database-file.ts';

/** A database with a table of 12 MB, which is copied in several steps. */
function database(t: TestContext, limits: Partial<typeof defaultLimits.database> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  const file = new DatabaseFile({
    path: join(folder, 'main.sqlite'),
    namespace: 'shop',
    limits: { ...defaultLimits.database, ...limits },
    space: new FreeSpace(folder, 0, statfsSync),
    storage: new StorageGuard(null),
    pathOf: (name) => join(folder, name),
    synchronous: 'normal',
    shard: 0,
    damaged: () => assert.fail('it is damaged'),
    changed() {},
    report: (message) => assert.fail(message),
  });
  t.after(() => {
    file.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const ask = async (op: number, args: readonly unknown[]): Promise<Record<string, unknown>> => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const answer = (_kind: number, payload: string | Uint8Array): void => resolve(String(payload));
    file.take({ op, args, transaction: 0, owner: {}, applied: 0, answer, begin() {}, settle() {}, end() {} });
    return JSON.parse(await promise) as Record<string, unknown>;
  };
  const made = ask(ops.exec, [`CREATE TABLE t (a); ${'INSERT INTO t VALUES (zeroblob(1900000)); '.repeat(6)}`]);
  return { folder, ask: async (op: number, args: readonly unknown[]) => made.then(() => ask(op, args)) };
}

test('a database is exported once at a time', async (t) => {
  const { folder, ask } = database(t);
  const copies = ['first', 'second'].map((name) => ask(ops.backup, [join(folder, name)]));
  const [first, second] = await Promise.all(copies);
  assert.deepEqual(first, { bytes: statSync(join(folder, 'first')).size });
  assert.deepEqual(second, {
    e: ['SQLITE_BUSY', 'another export of the database is running: try again when it has ended'],
  });
  assert.deepEqual(await ask(ops.backup, [join(folder, 'third')]), first);
});

test('an export needs room for the whole copy, and for what is to stay free', async (t) => {
  const { bavail, bsize } = statfsSync(tmpdir());
  const { folder, ask } = database(t, { diskFreeBytesMin: bavail * bsize + 1_000_000_000_000 });
  const { bytes } = await ask(ops.describe, []);
  assert.deepEqual(await ask(ops.backup, [join(folder, 'copy')]), {
    e: ['SQLITE_FULL', `the disk has no room for a copy of ${String(bytes)} bytes`],
  });
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('copy')),
    [],
  );
});

test('a copy that ends between its steps leaves no file', async (t) => {
  const { folder, ask } = database(t);
  await ask(ops.describe, []);
  const full = (): never => {
    throw new Error('the disk is full');
  };
  await assert.rejects(backupTo(join(folder, 'main.sqlite'), join(folder, 'copy'), full), /the disk is full/);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('copy')),
    [],
  );
});
