import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { versionOf } from '#test/frameworks/project.ts';
import { folderOf } from '#test/frameworks/row.ts';
import { rows } from '#test/frameworks/rows.ts';
import { rowsOfDay, tableOf } from '#test/frameworks/table.ts';

const apps = path.join(root, 'test/frameworks/apps');

test('every app of test/frameworks/apps has a row of its name, and every row an app with a lockfile', () => {
  const own = rows.filter(({ folder }) => folder === undefined);
  assert.deepEqual(own.map(({ app }) => app).toSorted(), readdirSync(apps).toSorted());
  assert.equal(new Set(rows.map(({ app }) => app)).size, rows.length);
  for (const row of rows) assert.match(versionOf(row), /^\d+\.\d+/, `${row.app}: the lockfile has no ${row.shows}`);
});

test('the file that a row edits says "version one" once', () => {
  for (const row of rows) {
    const file = path.join(apps, folderOf(row), row.edits);
    assert.equal(readFileSync(file, 'utf8').split('version one').length, 2, file);
  }
});

test('no app pins a range: what is installed is what the table says', () => {
  for (const app of readdirSync(apps)) {
    const manifest = JSON.parse(readFileSync(path.join(apps, app, 'package.json'), 'utf8')) as Record<string, object>;
    for (const [name, version] of Object.entries({ ...manifest['dependencies'], ...manifest['devDependencies'] }))
      assert.match(String(version), /^\d/, `${app}: ${name}`);
  }
});

test('packages that a row has installed from here are there', () => {
  for (const { app, packages = [] } of rows)
    for (const name of packages)
      assert.ok(existsSync(path.join(root, 'packages', name, 'package.json')), `${app}: ${name}`);
});

test('three rows a day come to all of them, in as many days as it takes', () => {
  for (const count of [1, 3, 4, 7, 14]) {
    const all = Array.from({ length: count }, (_, at) => at);
    const days = Math.ceil(count / 3);
    const seen = Array.from({ length: days }, (_, day) => rowsOfDay(all, 20_000 + day)).flat();
    assert.deepEqual(
      [...new Set(seen)].toSorted((a, b) => a - b),
      all,
    );
  }
});

test('a hole of the table leads to its reason, a failure to what failed, and what was not tried says so', () => {
  const [row] = rows;
  const text = tableOf(
    [
      {
        row: row!,
        version: '1.2.3',
        cells: {
          dev: { shown: '0.9 s' },
          api: { hole: 'it has no server' },
          form: { hole: 'it has no server' },
          build: { failed: 'no `x`\n  in y' },
        },
      },
    ],
    '2026-11-24',
  );
  const line = text.split('\n').find((one) => one.includes('1.2.3'))!;
  const cells = line.split('|').map((cell) => cell.trim());
  assert.deepEqual(cells.slice(1, 10), [
    `${row!.title} 1.2.3`,
    row!.kind,
    '0.9 s',
    'not tried',
    'fails [1](#reasons)',
    'not tried',
    'not tried',
    'none [2](#reasons)',
    'not tried',
  ]);
  assert.match(text, /^1\. It failed: `no 'x' in y`\n2\. It has no server\.$/m);
  assert.match(text, /on 2026-11-24/);
});
