// What a backup has of sandboxes: which there are, and not their files. After a restore those whose machine is there
// have theirs, others start anew, and what the backup does not know of goes.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { runBackup } from '#operations/backup/run.ts';
import { locationsOf } from '#operations/locations.ts';
import { openBackupAt } from '#operations/restore/find.ts';
import { restoreBackup } from '#operations/restore/restore.ts';
import { openPostgres } from '#postgres/connection.ts';
import { openSandboxRole } from '#postgres/sandbox-role.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { startReplica } from '#test/setup/sandbox-replica.ts';
import { eventually } from '#test/setup/whole-platform.ts';

const work = mkdtempSync(path.join(tmpdir(), 'sandbox-restore-'));
const machines = path.join(work, 'machines');
let source: Awaited<ReturnType<typeof createTestDatabase>>;
let location: string;

async function urlFor(database: string): Promise<string> {
  const sql = openPostgres({ url: database, name: 'test', connectionsMax: 1 });
  try {
    return await openSandboxRole(sql, database);
  } finally {
    await sql.close();
  }
}

async function restored(): Promise<{ url: string; close(): Promise<void> }> {
  const target = await createTestDatabase();
  const environment = { DATABASE_URL: target.url };
  const backup = await openBackupAt(location, work, environment, null);
  const folder = mkdtempSync(path.join(work, 'restored-'));
  await restoreBackup({ backup, locations: locationsOf(environment, folder), force: true, withoutKeys: true });
  await backup.close();
  return { url: await urlFor(target.url), close: () => target.close() };
}

before(async () => {
  source = await createTestDatabase();
  const folder = path.join(work, 'data');
  mkdirSync(folder, { mode: 0o700 });
  mkdirSync(machines);
  const environment = { DATABASE_URL: source.url };
  const backUp = (out: string): ReturnType<typeof runBackup> =>
    runBackup({ folder, environment, cwd: work, version: '0.1.0', out });
  assert.equal((await backUp('none.tar')).leftOut.join().includes('sandboxes'), false);
  const url = await urlFor(source.url);
  let service = await startReplica({ url, folder: machines, name: 'a' });
  assert.equal(await service.exec('one', 'echo of one > mine; cat mine'), 'of one\n');
  // It lets go of them, as its lease does when its time is over.
  await service.close();
  const report = await backUp('some.tar');
  ({ location } = report);
  assert.equal(
    report.leftOut.at(-1),
    'Files of sandboxes: after a restore, sandboxes whose machine is missing start without files',
  );
  service = await startReplica({ url, folder: machines, name: 'a' });
  assert.equal(await service.exec('later', 'echo of later > mine'), '');
  await service.close();
});
after(async () => {
  await source?.close();
  rmSync(work, { recursive: true, force: true });
});

test('on another machine a sandbox of before starts with empty files, and is one from then on', async () => {
  const database = await restored();
  const folder = path.join(work, 'elsewhere');
  mkdirSync(folder);
  const service = await startReplica({ url: database.url, folder, name: 'b' });
  try {
    const [, listed] = await service.call('/boxes', { method: 'GET' });
    assert.deepEqual(
      (listed as { items: { id: string }[] }).items.map(({ id }) => id),
      ['one'],
    );
    assert.equal(await service.exec('one', 'cat mine || echo nothing'), 'nothing\n');
    assert.equal(await service.exec('one', 'echo new > mine; cat mine'), 'new\n');
  } finally {
    await service.close();
    await database.close();
  }
});

test('beside its machines it has its files again, and a machine that the backup does not know is destroyed', async () => {
  const database = await restored();
  assert.equal(readdirSync(machines).length, 2);
  const service = await startReplica({ url: database.url, folder: machines, name: 'c', sweepMs: 50 });
  try {
    assert.equal(await service.exec('one', 'cat mine'), 'of one\n');
    await eventually('one machine', async () => readdirSync(machines).length === 1);
    assert.equal(await service.exec('one', 'cat mine'), 'of one\n');
  } finally {
    await service.close();
    await database.close();
  }
});
