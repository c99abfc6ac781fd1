// The platform is asked to end before it serves: it ends as one that serves does, and leaves nothing behind.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { nodeFlags } from '#core/node-flags.mjs';
import { until } from '#test/setup/until.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
  // As root: the user that the database runs as has to reach its files.
  await chmod(folder, 0o755);
  for (const name of ['temporary', 'platform', 'other']) await mkdir(join(folder, name));
});
after(() => rm(folder, { recursive: true, force: true }));

function supervisor(environment: Readonly<Record<string, string>> = {}): ChildProcess {
  return fork(join(import.meta.dirname, '../../runtime/supervisor/main.ts'), {
    execArgv: [...nodeFlags],
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      TMPDIR: join(folder, 'temporary'),
      FS_PATH: join(folder, 'platform'),
      HANDLER_PORT: '0',
      HANDLER_PRIVATE_PORT: '0',
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}

/** Command lines of the processes that have the folder in theirs. */
async function ofFolder(): Promise<string[]> {
  const found: string[] = [];
  for (const id of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(id)) continue;
    const command = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '');
    if (command.includes(folder)) found.push(command.replaceAll('\0', ' '));
  }
  return found;
}

for (const [moment, file] of [
  ['while its database is made', 'data-18.unfinished/PG_VERSION'],
  ['while its database starts', 'data-18/postmaster.pid'],
] as const) {
  test(`asked to end ${moment}, it ends well, and leaves no process and no temporary file`, async () => {
    const child = supervisor();
    const ended = once(child, 'exit');
    await until(async () => existsSync(join(folder, 'platform/postgres', file)));
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    assert.deepEqual(await ofFolder(), []);
    assert.deepEqual(await readdir(join(folder, 'temporary')), []);
  });
}

test('one that cannot start its database says so by its exit code, and leaves no temporary file', async () => {
  const child = supervisor({ FS_PATH: join(folder, 'other'), DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' });
  assert.deepEqual(await once(child, 'exit'), [78, null]);
  await until(async () => (await ofFolder()).length === 0);
  assert.deepEqual(await readdir(join(folder, 'temporary')), []);
});

test('one whose engines cannot start as configured ends its services before it says so by its exit code', async () => {
  const child = supervisor({ FILES_S3_BUCKET: 'without-an-endpoint' });
  assert.deepEqual(await once(child, 'exit'), [78, null]);
  assert.deepEqual(await ofFolder(), []);
  assert.deepEqual(await readdir(join(folder, 'temporary')), []);
});
