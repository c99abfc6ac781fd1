// One platform on a data folder: by the lock on one machine, by signs of life where a shared folder carries no locks.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { claimFolder } from '#runtime/supervisor/data-folder/folder-claim.ts';

const BEAT_MS = 50;

function dataFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'claim-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const claim = (folder: string, machine: string, onLost: (reason: string) => void = assert.fail) =>
  claimFolder(folder, { machine, beatMs: BEAT_MS, onLost });

/** As a file system that keeps the locks of each machine to itself: the next one locks another file. */
const forgetLock = (folder: string): void => rmSync(join(folder, 'locks/databases'));

test('a second platform on the same machine is refused, and told who works there', async (t) => {
  const folder = dataFolder(t);
  const release = await claim(folder, 'here');
  await assert.rejects(claim(folder, 'here'), {
    message: `Another platform works on the data folder ${folder} (on ${hostname()}, process ${process.pid}): stop that one first, or set FS_PATH and DB_STORAGE_DIR for a second one`,
  });
  release();
  (await claim(folder, 'here'))();
  assert.equal(existsSync(join(folder, 'locks/databases.holder')), false);
});

test('a second platform on another machine is refused where locks do not reach it', async (t) => {
  const folder = dataFolder(t);
  const release = await claim(folder, 'here');
  t.after(release);
  forgetLock(folder);
  await assert.rejects(claim(folder, 'there'), /Another platform works on the data folder .* \(on .*, process \d+\)/);
});

test('the folder of another machine is taken over where that one gives no sign of life', async (t) => {
  const folder = dataFolder(t);
  (await claim(folder, 'here'))();
  const holder = { id: 'x', machine: 'here', host: 'a', pid: 1, beat: 7 };
  writeFileSync(join(folder, 'locks/databases.holder'), JSON.stringify(holder));
  const release = await claim(folder, 'there');
  release();
});

test('one that another machine took the folder from ends, and leaves what is the other one’s', async (t) => {
  const folder = dataFolder(t);
  const lost = Promise.withResolvers<string>();
  const release = await claim(folder, 'here', lost.resolve);
  const file = join(folder, 'locks/databases.holder');
  writeFileSync(file, JSON.stringify({ id: 'y', machine: 'there', host: 'other-host', pid: 2, beat: 0 }));
  assert.match(await lost.promise, /\(on other-host, process 2\)/);
  release();
  assert.equal(existsSync(file), true);
});
