// `platform restore` as a person types it: what it says to do next.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { run } from '#cli/main.ts';
import { runBackup } from '#operations/backup/run.ts';
import { makeDataFolder } from '#test/setup/backups.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';

test('the command that starts what was restored names the data folder it was restored into', async (t) => {
  const folder = await makeDataFolder('here');
  const work = mkdtempSync(path.join(tmpdir(), 'restore-command-'));
  t.after(() => [folder, work].forEach((one) => rmSync(one, { recursive: true, force: true })));
  const environment = { DATABASE_URL: 'none' };
  const { location } = await runBackup({ folder, environment, cwd: work, version: '0.1.0', out: 'plain.tar' });
  const shell = recordingShell(work, { ...environment, FS_PATH: "to it's place" });
  assert.equal(await run(['restore', location, '--without-keys'], shell), 0, shell.errors.join('\n'));
  assert.equal(shell.output.at(-1), `  Start it: \`FS_PATH='${work}/to it'\\''s place' npm start\``);
});
