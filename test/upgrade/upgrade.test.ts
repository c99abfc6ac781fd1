// `npm test -- upgrade`: from the packed program of the last commit before `platform upgrade` existed to this one and
// back, with npm.
import assert from 'node:assert/strict';
import { mkdtempSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { COMMIT_BEFORE } from '#cli/tasks/suites/upgrade.ts';
import { packCommit, packThis, unpack, withMigration } from '#test/setup/packed.ts';
import { openUpgradeFolder, type UpgradeFolder } from '#test/setup/upgrades.ts';

const LATER = 'ALTER TABLE control.project ADD COLUMN later text';
const work = mkdtempSync(path.join(tmpdir(), 'platform-upgrade-'));
let data: UpgradeFolder;
let old: string;
let now: string;
let later: string;

before(async () => {
  const before = packCommit(COMMIT_BEFORE, path.join(work, 'before'));
  assert.ok(before !== null, `commit ${COMMIT_BEFORE} is not in this clone: git fetch --unshallow`);
  old = unpack(before, path.join(work, 'old'));
  const tarball = await packThis(path.join(work, 'dist'));
  now = unpack(tarball, path.join(work, 'now'));
  later = withMigration(tarball, path.join(work, 'later'), LATER);
  data = await openUpgradeFolder(work);
});
after(() => rmSync(work, { recursive: true, force: true }));

test('the version before is upgraded by a tarball, serves what it had, and is gone back to', async () => {
  const first = await data.start(old);
  await data.deployCounter(old);
  assert.equal(await data.count(), '1');
  assert.equal(await data.count(), '2');

  const running = await data.platform(now, ['upgrade']);
  assert.match(
    running.output,
    /The platform runs on .*\nStop the platform first: two versions must not use the same data folder/,
  );
  const online = await data.platform(now, ['backup', '--out', path.join(work, 'online.tar')]);
  assert.equal(online.code, 0, online.output);
  await first.stop();
  const before = await data.digest();

  const upgraded = await data.platform(now, ['upgrade', later]);
  assert.equal(upgraded.code, 0, upgraded.output);
  const current = path.join(work, 'home/current');
  assert.match(readlinkSync(current), /^releases\/file-[0-9a-f]{16}$/);
  const program = path.join(current, 'node_modules/@platform-run/cli');
  const second = await data.start(program);
  assert.equal(await data.count(), '3');
  await second.stop();

  // Neither of the older ones takes what is newer.
  await assert.rejects(data.start(now), /was written by a newer version of the platform/);
  await assert.rejects(data.start(old), /which this version of the platform does not know: start the newer version/);

  const back = await data.platform(program, ['upgrade', '--undo', '--yes']);
  assert.equal(back.code, 0, back.output);
  assert.match(back.output, /The backup was restored; later data is in .*before-restore-/);
  assert.deepEqual(await data.digest(), before);
  const third = await data.start(old);
  assert.equal(await data.count(), '3');
  await third.stop();
});
