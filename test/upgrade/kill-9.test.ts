// `platform upgrade` and `platform restore` are killed at random moments, alone or with all that they started:
// afterwards a version runs with all data, or the program says which command mends it, and that command does.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { createSeededRandom } from '#test/setup/seeded-random.ts';
import { packThis, unpack, withMigration } from '#test/setup/packed.ts';
import { openUpgradeFolder, type CommandEnd, type UpgradeFolder } from '#test/setup/upgrades.ts';

const ROUNDS = Number(process.env['UPGRADE_KILL_ROUNDS'] ?? 10);
const work = mkdtempSync(path.join(tmpdir(), 'platform-kill-'));
const random = createSeededRandom();
/** The data folder as it is before each round, its platform stopped. */
const kept = path.join(work, 'kept');
let data: UpgradeFolder;
let now: string;
let later: string;
let untouched: unknown;

before(async () => {
  const tarball = await packThis(path.join(work, 'dist'));
  now = unpack(tarball, path.join(work, 'now'));
  const next = withMigration(tarball, path.join(work, 'made'), 'ALTER TABLE control.project ADD COLUMN later text');
  later = unpack(next, path.join(work, 'later'));
  data = await openUpgradeFolder(work);
  const platform = await data.start(now);
  await data.deployCounter(now);
  assert.equal(await data.count(), '1');
  assert.equal(await data.count(), '2');
  await platform.stop();
  untouched = await data.digest();
  copy(data.folder, kept);
});
after(() => rmSync(work, { recursive: true, force: true }));

/** With its owners: as root the embedded Postgres runs as another user. */
function copy(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to]);
}

/** The folder as it was. */
function reset(): void {
  rmSync(data.folder, { recursive: true });
  copy(kept, data.folder);
}

/** Runs a command until nothing that was left running keeps it from its work. */
async function insist(program: string, words: readonly string[]): Promise<CommandEnd> {
  for (;;) {
    const end = await data.platform(program, words);
    if (!/runs on |under way|Another platform works/.test(end.output)) return end;
  }
}

/** Starts a version; where something that was left running ends first, again. @returns null, or why it does not. */
async function startedOr(program: string): Promise<{ stop(): Promise<void> } | string> {
  for (;;) {
    try {
      return await data.start(program);
    } catch (error) {
      const { message } = error as Error;
      if (!/runs on |Another platform|already running|is taken/.test(message)) return message;
    }
  }
}

async function fullLength(command: () => Promise<CommandEnd>): Promise<number> {
  const began = performance.now();
  const end = await command();
  assert.equal(end.code, 0, end.output);
  return performance.now() - began;
}

test(`after ${ROUNDS} upgrades that were killed a version runs with all data, or what the program says mends it`, async (t) => {
  const ms = await fullLength(() => data.platform(later, ['upgrade']));
  const ends: Record<string, number> = {};
  for (let round = 0; round < ROUNDS; round++) {
    reset();
    const kill = { afterMs: Math.round((ms * (round + random.below(100) / 100)) / ROUNDS), all: round % 2 === 1 };
    const place = `seed ${random.seed}, round ${round}, killed ${kill.all ? 'with all of its own ' : ''}after ${kill.afterMs} of ${Math.round(ms)} ms`;
    const { output } = await data.platform(later, ['upgrade'], kill);
    let how = 'the old version runs';
    let platform = await startedOr(now);
    if (typeof platform === 'string') {
      assert.match(platform, /platform upgrade --resume|by a newer version of the platform/, `${place}: ${platform}`);
      const words = /--resume/.test(platform) && round % 4 < 2 ? ['--resume'] : ['--undo', '--yes'];
      const mended = await insist(later, ['upgrade', ...words]);
      assert.equal(mended.code, 0, `${place}\n${output}\n${mended.output}`);
      how = `upgrade ${words[0]}`;
      if (words[0] === '--undo') assert.deepEqual(await data.digest(), untouched, place);
      platform = await startedOr(words[0] === '--undo' ? now : later);
      assert.ok(typeof platform !== 'string', `${place}: ${String(platform)}`);
    }
    assert.equal(await data.count(), '3', place);
    await platform.stop();
    ends[how] = (ends[how] ?? 0) + 1;
  }
  t.diagnostic(`an upgrade takes ${Math.round(ms)} ms; afterwards: ${JSON.stringify(ends)}`);
});

test(`after ${ROUNDS} restores that were killed all is as before, or the same command ends it`, async (t) => {
  reset();
  const archive = path.join(work, 'backup.tar');
  const made = await data.platform(now, ['backup', '--out', archive, '--keys']);
  assert.equal(made.code, 0, made.output);
  const words = ['restore', archive, '--force', '--yes'];
  const ms = await fullLength(() => data.platform(now, words));
  const ends: Record<string, number> = {};
  for (let round = 0; round < ROUNDS; round++) {
    reset();
    // What is replaced has moved on since the backup.
    const moved = await data.start(now);
    assert.equal(await data.count(), '3');
    await moved.stop();
    const kill = { afterMs: Math.round((ms * (round + random.below(100) / 100)) / ROUNDS), all: round % 2 === 1 };
    const place = `seed ${random.seed}, round ${round}, killed after ${kill.afterMs} of ${Math.round(ms)} ms`;
    const { code } = await data.platform(now, words, kill);
    let platform = await startedOr(now);
    let how = code === 0 ? 'it had ended' : 'all is as before';
    if (typeof platform === 'string') {
      assert.match(
        platform,
        /was interrupted, and its data is incomplete\. Run `platform restore .* --force` again/,
        place,
      );
      const again = await insist(now, words);
      assert.equal(again.code, 0, `${place}\n${again.output}`);
      assert.deepEqual(await data.digest(), untouched, place);
      how = 'the same command ended it';
      platform = await startedOr(now);
      assert.ok(typeof platform !== 'string', `${place}: ${String(platform)}`);
      const aside = readdirSync(data.folder).filter((name) => name.startsWith('before-restore-'));
      assert.equal(aside.length, 1, place);
    }
    // The counter of before, or of the backup; a kill that came a moment too late has changed nothing of its end.
    const count = await data.count();
    if (how === 'all is as before' && count === '3') how = 'it had ended';
    assert.equal(count, how === 'all is as before' ? '4' : '3', place);
    await platform.stop();
    ends[how] = (ends[how] ?? 0) + 1;
  }
  t.diagnostic(`a restore takes ${Math.round(ms)} ms; afterwards: ${JSON.stringify(ends)}`);
});
