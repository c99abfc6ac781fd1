// A request whose process is ended is repeated: from its commit on, the watchdog must leave it alone.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { FreeSpace } from '#core/process/free-space.ts';
import { StorageGuard } from '#core/storage-left.ts';
import { ops } from '#runtime/databases/protocol/frames.ts';
import { ENDING, endTurn, field, newMemory } from '#runtime/databases/shard/running.ts';
import { DatabaseFile } from '#runtime/databases/sqlite/database-file.ts';
import type { Job } from '#runtime/databases/sqlite/job.ts';

test('a batch can be ended until its commit, and its log is moved into the file after it', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  const path = join(folder, 'main.sqlite');
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const limits = defaultLimits.database;
  const file = new DatabaseFile({
    path,
    namespace: 'shop',
    limits,
    space: new FreeSpace(folder, 0, statfsSync),
    storage: new StorageGuard(null),
    pathOf: (name) => join(folder, name),
    synchronous: 'normal',
    shard: 0,
    damaged: () => assert.fail('it is damaged'),
    changed() {},
    report: (message) => assert.fail(message),
  });
  const ask = (op: number, args: readonly unknown[], settle: () => void = () => {}): string => {
    let answered = '';
    const answer: Job['answer'] = (_kind, payload) => (answered = String(payload));
    file.take({ op, args, transaction: 0, owner: {}, applied: 0, answer, begin() {}, settle, end() {} });
    return answered;
  };
  ask(ops.query, ['CREATE TABLE t (a)', []]);
  const seen: unknown[] = [];
  const batch = Array.from({ length: 800 }, () => ['INSERT INTO t VALUES (randomblob(8000))', []]);
  const answered = ask(ops.batch, batch, () => {
    const other = new DatabaseSync(path, { returnArrays: true });
    seen.push(other.prepare('SELECT count(*) FROM t').get(), statSync(path).size > 6_000_000);
    other.close();
  });
  assert.equal((JSON.parse(answered) as unknown[]).length, 800);
  assert.deepEqual(seen, [[0], false, [800], false]);
  assert.equal(statSync(path).size > 6_000_000, true);
  file.close();
});

test('a turn ends once, and not when the watchdog has begun to end the process', () => {
  const view = new Int32Array(newMemory());
  Atomics.add(view, field.turn, 1);
  endTurn(view);
  endTurn(view);
  assert.equal(view[field.turn], 2);
  assert.equal(Atomics.compareExchange(view, field.turn, 1, ENDING), 2);
});
