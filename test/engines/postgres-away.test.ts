// Postgres is killed while messages are sent and delivered: what was acknowledged comes, and everything goes on by
// itself.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

test('a server that is killed under load loses no message that was taken, and the broker goes on when it is back', async () => {
  // It ends when every message that was taken has been delivered.
  const { stdout } = await promisify(execFile)(process.execPath, [
    path.join(import.meta.dirname, '../setup/postgres-away.ts'),
  ]);
  const { taken, troubles } = JSON.parse(stdout) as { taken: number; troubles: string[] };
  assert.equal(taken, 180);
  // The loops say what went wrong, and nothing else did.
  assert.deepEqual(
    troubles.filter((text) => !text.endsWith(' failed')),
    [],
  );
});
