// What is read of SQLite's log: logs that SQLite itself writes, and damaged ones.
import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { readLog, type LogPart, type LogPosition, type LogProblem } from '#runtime/databases/replica/log-file.ts';

function open(t: TestContext): {
  db: DatabaseSync;
  file: string;
  read(from: LogPosition | null, framesMax?: number): LogPart | LogProblem | null;
} {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-log-'));
  const file = path.join(folder, 'a.sqlite');
  const db = new DatabaseSync(file);
  t.after(() => {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  db.exec('PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t (a)');
  return {
    db,
    file,
    read(from, framesMax = 1000) {
      const log = openSync(`${file}-wal`, 'r');
      try {
        return readLog(log, from, framesMax);
      } finally {
        closeSync(log);
      }
    },
  };
}

test('what was committed behind a position is read, and nothing that was not', (t) => {
  const { db, read } = open(t);
  const first = read(null) as LogPart;
  assert.equal(first.databasePages, 2);
  assert.deepEqual([...first.pages.keys()].toSorted(), [1, 2]);
  db.exec('BEGIN; INSERT INTO t VALUES (1)');
  assert.equal((read(first.position) as LogPart).pages.size, 0);
  db.exec('COMMIT');
  const second = read(first.position) as LogPart;
  assert.deepEqual([...second.pages.keys()], [2]);
  assert.equal(second.position.frames, first.position.frames + 1);
  db.exec('INSERT INTO t VALUES (randomblob(100000))');
  assert.equal(read(second.position, 10), 'long');
});

test('a log that begins again goes on after the position, and one that is another does not', (t) => {
  const { db, read } = open(t);
  const { position } = read(null) as LogPart;
  db.exec('PRAGMA wal_checkpoint(RESTART); INSERT INTO t VALUES (1)');
  const next = read(position) as LogPart;
  assert.equal(next.restarted, true);
  assert.equal(next.position.frames, 1);
  db.exec('PRAGMA wal_checkpoint(RESTART); INSERT INTO t VALUES (2)');
  assert.equal(read(position), 'diverged');
});

test('a position whose last frame is another one by now diverges', (t) => {
  const { db, read } = open(t);
  db.exec('INSERT INTO t VALUES (1)');
  const { position } = read(null) as LogPart;
  assert.equal(read({ ...position, checksum: [1, 2] }), 'diverged');
});

test('a frame that is damaged or cut ends what is read', (t) => {
  const { db, file, read } = open(t);
  const { position } = read(null) as LogPart;
  db.exec('INSERT INTO t VALUES (1)');
  const log = readFileSync(`${file}-wal`);
  log[log.length - 1]! ^= 1;
  writeFileSync(`${file}-wal`, log);
  assert.deepEqual((read(null) as LogPart).position, position);
  writeFileSync(`${file}-wal`, log.subarray(0, 40));
  assert.equal((read(null) as LogPart).position.frames, 0);
  writeFileSync(`${file}-wal`, log.subarray(0, 20));
  assert.equal(read(null), null);
});
