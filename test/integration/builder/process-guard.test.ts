// No process of a build outlives its builder: the shell beside it kills the groups it knows, the next builder the rest.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { endLeftovers, openProcessGuard } from '#builder/service/machine/process-guard.ts';

test('groups are killed when the guard ends, but for those that were gone before', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-guard-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const guard = openProcessGuard(path.join(folder, 'record'));
  const children = [0, 1, 2].map(() => spawn('sleep', ['300'], { detached: true, stdio: 'ignore' }));
  t.after(() => children.forEach((child) => child.kill('SIGKILL')));
  const [forgotten, ...known] = children;
  guard.add(forgotten!.pid!)();
  for (const child of known) guard.add(child.pid!);
  assert.match(readFileSync(path.join(folder, 'record'), 'utf8'), new RegExp(`^${known[0]!.pid} \\d+$`, 'm'));
  const ends = known.map((child) => once(child, 'exit'));
  await guard.close();
  assert.deepEqual(await Promise.all(ends), [
    [null, 'SIGKILL'],
    [null, 'SIGKILL'],
  ]);
  assert.equal(forgotten!.signalCode, null);
});

test('what an earlier builder left is killed, and no process that only has the number of one', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-guard-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const record = path.join(folder, 'record');
  const start = (cwd: string): ReturnType<typeof spawn> => {
    const child = spawn('sleep', ['300'], { cwd, detached: true, stdio: 'ignore' });
    t.after(() => child.kill('SIGKILL'));
    return child;
  };
  const [below, grouped, stranger] = [start(folder), start('/'), start('/')];
  const startedAt = (pid: number): string => {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19]!;
  };
  writeFileSync(record, `${grouped.pid} ${startedAt(grouped.pid!)}\n${stranger.pid} 1\n`);
  const ends = [below, grouped].map((child) => once(child, 'exit'));
  assert.equal(await endLeftovers(record, folder), 2);
  await Promise.all(ends);
  assert.equal(stranger.signalCode, null);
});
