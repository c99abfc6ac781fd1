// A new file that several engines open when they start together: SQLite does not wait for whoever turns it to WAL just
// then.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { openSqliteFile } from '#runtime/stores/sqlite-file.ts';
import { fuzzRounds } from '#test/setup/seeded-random.ts';

const isOpener = process.argv[2] === 'opener';

if (isOpener) {
  process.on('message', (file: string) => {
    try {
      const db = openSqliteFile(file);
      db.exec('CREATE TABLE IF NOT EXISTS t (n INTEGER)');
      db.close();
      process.send!('opened');
    } catch (error) {
      process.send!((error as Error).message);
    }
  });
  process.send!('ready');
} else {
  test('a file whose lock SQLite does not wait for is tried again until it is free', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
    const other = new Database(join(folder, 'a.sqlite'));
    other.exec('CREATE TABLE t (n INTEGER); BEGIN IMMEDIATE');
    let tries = 0;
    const { pragma } = Database.prototype;
    t.mock.method(Database.prototype, 'pragma', function (this: Database.Database, ...given: [string]) {
      if (++tries === 2) other.exec('COMMIT');
      return pragma.apply(this, given);
    });
    const db = openSqliteFile(other.name);
    assert.equal(tries, 2);
    for (const each of [db, other]) each.close();
    await rm(folder, { recursive: true });
  });

  test('four processes open new files at the same time', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
    const openers = Array.from({ length: 4 }, () => fork(import.meta.filename, ['opener']));
    await Promise.all(openers.map((opener) => once(opener, 'message')));
    const failures: unknown[] = [];
    for (let n = 0; n < fuzzRounds(20); n++) {
      const answers = openers.map((opener) => once(opener, 'message'));
      for (const opener of openers) opener.send(join(folder, `${n}.sqlite`));
      for (const [answer] of await Promise.all(answers)) if (answer !== 'opened') failures.push(answer);
    }
    for (const opener of openers) opener.disconnect();
    await rm(folder, { recursive: true });
    assert.deepEqual(failures, []);
  });

  test('a file that is no database is refused, and not waited for', async () => {
    assert.throws(() => openSqliteFile(import.meta.filename), { code: 'SQLITE_NOTADB' });
  });
}
