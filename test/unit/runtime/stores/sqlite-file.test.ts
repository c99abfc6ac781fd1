// A new file that several engines open when they start together: SQLite does not wait for whoever turns it to WAL just
// then.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteFile } from '#runtime/stores/sqlite-file.ts';

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
  test('four processes open two hundred new files at the same time', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
    const openers = Array.from({ length: 4 }, () => fork(import.meta.filename, ['opener']));
    await Promise.all(openers.map((opener) => once(opener, 'message')));
    const failures: unknown[] = [];
    for (let n = 0; n < 200; n++) {
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
