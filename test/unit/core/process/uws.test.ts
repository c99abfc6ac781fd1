// What is pinned of uWebSockets.js, and where it does not load.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { installedUws, pinnedUws, uwsName, uwsProblem, uwsSystem } from '#core/process/uws.ts';

const debian13 = { platform: 'linux', arch: 'x64', abi: '137', glibc: '2.41' };

test('it loads with glibc 2.38 or newer, on the processors whose binary is pinned', () => {
  assert.equal(uwsProblem(debian13), null);
  assert.equal(uwsProblem({ ...debian13, arch: 'arm64', glibc: '2.38' }), null);
  assert.equal(uwsProblem({ ...debian13, glibc: '3.0' }), null);
  assert.equal(
    uwsProblem({ ...debian13, glibc: '2.36' }),
    'uWebSockets.js requires glibc 2.38, and this system has 2.36',
  );
  assert.equal(
    uwsProblem({ ...debian13, glibc: undefined }),
    'uWebSockets.js requires glibc 2.38, and this system has another C library',
  );
  for (const other of [{ platform: 'darwin', arch: 'arm64' }, { arch: 'riscv64' }, { abi: '141' }])
    assert.match(
      uwsProblem({ ...debian13, ...other })!,
      /^uWebSockets\.js is pinned for Node 24 on Linux \(x64, arm64\)/,
    );
});

test('the binary in a data folder counts only with the pinned hash', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'uws-'));
  t.after(() => rmSync(folder, { recursive: true }));
  assert.deepEqual(installedUws(folder), { reason: 'uWebSockets.js is not installed' });
  const file = path.join(folder, 'listener', uwsName(uwsSystem()));
  mkdirSync(path.dirname(file));
  writeFileSync(file, 'changed');
  assert.deepEqual(installedUws(folder), {
    reason: `${file} has another hash than this version pins: run \`platform listener install\``,
  });
});

test('hashes are pinned by the name of the binary', () => {
  assert.equal(pinnedUws('uws_linux_x64_137.node')?.bytes, 7307432);
  assert.equal(pinnedUws('uws_linux_x64_141.node'), null);
});
