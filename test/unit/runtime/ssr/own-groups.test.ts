// What the process of servers does with the control groups of its container, on folders that look like them.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { openOwnGroups } from '#runtime/ssr/own-groups.ts';

/** A folder of them; tests run as root too, who may write to any: `closed` says that it is not. */
function mountOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  const mount = mkdtempSync(path.join(tmpdir(), 'platform-groups-'));
  t.after(() => {
    rmSync(mount, { recursive: true, force: true });
  });
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(mount, file)), { recursive: true });
    writeFileSync(path.join(mount, file), text);
  }
  return mount;
}

const closed = (): Promise<boolean> => Promise.resolve(false);

test('version 2: the processes of the container make room, and groups below it get their controllers', async (t) => {
  const mount = mountOf(t, {
    'cgroup.controllers': 'cpuset cpu io memory pids\n',
    'cgroup.procs': '1\n7\n',
    'cgroup.subtree_control': '',
  });
  const remounted: string[] = [];
  await openOwnGroups({ mount, isWritable: closed, remount: async (folder) => void remounted.push(folder) });
  assert.deepEqual(remounted, [mount]);
  assert.equal(readFileSync(path.join(mount, 'init/cgroup.procs'), 'utf8'), '7');
  assert.equal(readFileSync(path.join(mount, 'cgroup.subtree_control'), 'utf8'), '+memory +pids +cpu');
});

test('version 1: each controller that is there is made writable, and nothing is moved', async (t) => {
  const mount = mountOf(t, { 'memory/cgroup.procs': '1\n', 'pids/cgroup.procs': '1\n' });
  const remounted: string[] = [];
  await openOwnGroups({ mount, isWritable: closed, remount: async (folder) => void remounted.push(folder) });
  assert.deepEqual(remounted, [path.join(mount, 'memory'), path.join(mount, 'pids')]);
});

test('groups that can be written to, as on a machine, are left as they are', async (t) => {
  const mount = mountOf(t, { 'cgroup.controllers': 'memory\n', 'cgroup.procs': '1\n', 'cgroup.subtree_control': '' });
  await openOwnGroups({ mount, remount: () => assert.fail('it is writable') });
  assert.equal(readFileSync(path.join(mount, 'cgroup.subtree_control'), 'utf8'), '');
});

test('without the right to remount nothing changes', async (t) => {
  const mount = mountOf(t, { 'cgroup.controllers': 'memory\n', 'cgroup.procs': '1\n', 'cgroup.subtree_control': '' });
  await openOwnGroups({ mount, isWritable: closed, remount: () => Promise.reject(new Error('permission denied')) });
  assert.equal(readFileSync(path.join(mount, 'cgroup.subtree_control'), 'utf8'), '');
});
