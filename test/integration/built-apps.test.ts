// Apps that have something to build, in the shapes that people bring: each runs in `platform dev`, follows an edit, and
// is served as it is built, from a folder that holds its sources alone. Deployed to a platform: test/dev/.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { run } from '#cli/main.ts';
import { noStores } from '#test/setup/no-stores.ts';
import { openStateSqlite } from '#runtime/stores/state-sqlite.ts';
import { builtApps, copySources } from '#test/setup/built-apps.ts';
import { startDevHere } from '#test/setup/dev.ts';
import { startHandler, type TestHandler, type WorkerSource } from '#test/setup/handler.ts';
import { until } from '#test/setup/until.ts';
import { recordingShell } from '../unit/cli/recording-shell.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'built-apps-'));
const state = openStateSqlite(path.join(folder, 'state.sqlite'));
let handler: TestHandler;

before(async () => {
  const workers: Record<string, WorkerSource> = {};
  for (const name of Object.keys(builtApps)) {
    const shell = recordingShell(copySources(name, path.join(folder, 'built')));
    assert.equal(await run(['build', '--json'], shell), 0, [...shell.output, ...shell.errors].join('\n'));
    workers[name] = { files: {}, artifact: JSON.parse(shell.output[0]!) as { id: string; folder: string } };
  }
  handler = await startHandler(workers, {}, { stores: { ...noStores, state } });
});
after(async () => {
  await handler.close();
  state.close();
  rmSync(folder, { recursive: true });
});

for (const [name, { asks, edit }] of Object.entries(builtApps)) {
  test(`${name} runs in dev and follows an edit`, async (t) => {
    const project = copySources(name, path.join(folder, 'dev'));
    const dev = await startDevHere(project);
    t.after(() => dev.close());
    await dev.printed(/Ready/);
    await asks(dev.fetch);
    const file = path.join(project, edit.file);
    writeFileSync(file, readFileSync(file, 'utf8').replace(edit.from, edit.to));
    await until(async () => (await dev.fetch(edit.path, edit.options)).text.includes('Edited'));
    assert.doesNotMatch(dev.output, /error/i);
  });

  test(`${name} is served as it is built`, () => asks((target, options) => handler.fetch(name, target, options)));
}
