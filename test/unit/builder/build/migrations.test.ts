// The migrations of a project, as files.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { containmentOf } from '#builder/project/containment.ts';
import { readMigrations } from '#builder/build/migrations.ts';

async function project(t: TestContext, files: readonly string[]): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'platform-test-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const file of files) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), `-- ${file}`);
  }
  return root;
}

test('a project without migrations has none', async (t) => {
  assert.deepEqual(await readMigrations(containmentOf(await project(t, [])), { DB: 'main' }), []);
});

test('files of the folder belong to the only database, in the order of their names', async (t) => {
  const root = await project(t, [
    'migrations/0002.sql',
    'migrations/0001.sql',
    'migrations/meta/journal.json',
    'migrations/README.md',
  ]);
  assert.deepEqual(await readMigrations(containmentOf(root), { DB: 'main' }), [
    {
      resource: 'main',
      files: [
        ['0001.sql', '-- migrations/0001.sql'],
        ['0002.sql', '-- migrations/0002.sql'],
      ],
    },
  ]);
});

test('folders named after bindings belong to their databases', async (t) => {
  const root = await project(t, ['migrations/DB/1.sql', 'migrations/LOG/1.sql', 'migrations/OTHER/1.sql']);
  assert.deepEqual(
    (await readMigrations(containmentOf(root), { DB: 'main', LOG: 'log' })).map(({ resource, files }) => [
      resource,
      files.length,
    ]),
    [
      ['main', 1],
      ['log', 1],
    ],
  );
});

test('files that cannot belong to one database are an error', async (t) => {
  const plain = await project(t, ['migrations/1.sql']);
  await assert.rejects(readMigrations(containmentOf(plain), {}), {
    message: 'migrations/ has SQL files, but platform.yaml declares no database: declare one under db',
  });
  await assert.rejects(readMigrations(containmentOf(plain), { DB: 'main', LOG: 'log' }), {
    message:
      'migrations/ has SQL files, but platform.yaml declares 2: put them into migrations/<BINDING>, such as migrations/DB',
  });
  const mixed = await project(t, ['migrations/1.sql', 'migrations/DB/1.sql']);
  await assert.rejects(readMigrations(containmentOf(mixed), { DB: 'main' }), {
    message: 'migrations/ has SQL files and the folder DB: put each file into the folder of its binding',
  });
  const twice = await project(t, ['migrations/A/1.sql', 'migrations/B/1.sql']);
  await assert.rejects(readMigrations(containmentOf(twice), { A: 'main', B: 'main' }), {
    message: 'Two bindings of the database main have migrations: keep those of one',
  });
});
