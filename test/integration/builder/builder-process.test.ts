// The builder's process, killed in the middle of a build; what else becomes of it is in test/builds/.
// `BUILDER_KILL_ROUNDS=20` kills it more often.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  counting,
  openBuilderProcesses,
  processesWith,
  ROUNDS,
  type BuilderProcesses,
} from '#test/setup/builder-process.ts';
import { until } from '#test/setup/until.ts';

let processes: BuilderProcesses;
before(async () => {
  processes = await openBuilderProcesses();
});
after(() => processes.close());

test('a builder that is killed leaves no process, and the next one builds what it had claimed', async () => {
  const { builds, start, end } = processes;
  const project = await builds.project('killed');
  for (let round = 0; round < ROUNDS; round++) {
    const first = await start();
    const { id } = await project.push({ ...counting(8), round: String(round) });
    await builds.logged(id, `line ${2 + (round % 5)}`);
    const acknowledged = await builds.log(id);
    await end(first, 'SIGKILL');
    await until(() => processesWith(`${id}-1`).length === 0);
    const second = await start();
    const row = await builds.ended(id);
    assert.deepEqual([row.status, row.reason, row.artifact === null], ['uploading', null, false]);
    const lines = await builds.log(id);
    assert.deepEqual(lines.slice(0, acknowledged.length), acknowledged);
    assert.deepEqual(
      lines.map(({ seq }) => seq),
      lines.map((_, index) => index + 1),
    );
    assert.equal(lines.filter(({ text }) => text.includes('again: the builder was lost')).length, 1);
    assert.equal(lines.filter(({ text }) => text === 'line 8').length, 1);
    await until(() => processesWith(id).length === 0);
    await end(second, 'SIGTERM');
  }
});
