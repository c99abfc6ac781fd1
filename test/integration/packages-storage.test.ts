// A library for Workers KV and R2, unmodified, on the state and file bindings.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { noStores } from '#test/setup/no-stores.ts';
import { openFilesDisk } from '#runtime/stores/files-disk.ts';
import { openStateSqlite } from '#runtime/stores/state-sqlite.ts';
import type { TestHandler } from '#test/setup/handler.ts';
import { skipPackages, startPackages } from '#test/setup/packages.ts';

let handler: TestHandler | undefined;
let folder: string;
let fs: ReturnType<typeof openFilesDisk>;
let state: ReturnType<typeof openStateSqlite>;

before(async () => {
  if (skipPackages !== false) return;
  folder = await mkdtemp(join(tmpdir(), 'platform-storage-'));
  fs = openFilesDisk(join(folder, 'files'));
  state = openStateSqlite(join(folder, 'state.sqlite'));
  handler = await startPackages(
    ['unstorage'],
    {},
    { stores: { ...noStores, files: fs, state }, yaml: 'state: { KV: kv }\nfs: { FILES: files }\n' },
  );
});
after(async () => {
  if (handler === undefined) return;
  await handler.close();
  fs.close();
  state.close();
  await rm(folder, { recursive: true });
});

for (const path of ['/state', '/files'])
  test(
    `unstorage reads, writes, lists and clears over its driver of ${path === '/state' ? 'KV' : 'R2'}`,
    { skip: skipPackages },
    async () => {
      const answer = await handler!.fetch('unstorage', path);
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(answer.json(), {
        ada: { name: 'Ada', since: 1815 },
        bob: 'plain text',
        nobody: null,
        bytes: [1, 2, 255],
        has: [true, false],
        keys: ['bytes', 'users:ada', 'users:bob'],
        users: ['ada', 'bob'],
        left: ['bytes', 'users:bob'],
        cleared: [],
      });
    },
  );
