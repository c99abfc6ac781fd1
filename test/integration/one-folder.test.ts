// One data folder, and a second database: what a start with it says.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { nodeFlags } from '#core/node-flags.mjs';
import { openPostgres } from '#postgres/connection.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';

/** The process that looks after the database: until it is ready, or has ended. */
function lookAfter(folder: string, url: string): Promise<{ isReady: boolean; code: number | null; output: string }> {
  const child = spawn(process.execPath, [...nodeFlags, 'postgres/main.ts'], {
    env: { ...process.env, FS_PATH: folder, DATABASE_URL: url, LOG_FORMAT: 'json' },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  let [output, isReady] = ['', false];
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.on('message', () => {
    isReady = true;
    child.kill('SIGTERM');
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ isReady, code, output })));
}

test('a data folder takes its first database, and no other one of another installation', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-folder-'));
  const [first, second] = [await createTestDatabase(), await createTestDatabase()];
  t.after(async () => {
    await Promise.all([first.close(), second.close()]);
    rmSync(folder, { recursive: true });
  });
  // Databases of tests are copies of one another.
  const sql = openPostgres({ url: second.url, name: 'test', connectionsMax: 1 });
  const [{ id: other }] = (await sql.all<{ id: string }>(
    'UPDATE control.platform SET id = gen_random_uuid() RETURNING id::text',
  )) as [{ id: string }];
  await sql.close();
  for (let start = 0; start < 2; start++) assert.equal((await lookAfter(folder, first.url)).isReady, true);
  const { isReady, code, output } = await lookAfter(folder, second.url);
  assert.deepEqual([isReady, code], [false, 1]);
  assert.match(
    output,
    new RegExp(`The data folder ${folder} belongs to installation [0-9a-f-]{36}, the database to ${other}`),
  );
});
