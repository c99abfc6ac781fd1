// Slots of a builder are shared between organizations, however many builds each of them has queued.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { openBuilds, type TestBuilds } from '#test/setup/builds.ts';
import { shellSteps } from '#test/setup/shell-steps.ts';
import { until } from '#test/setup/until.ts';

let builds: TestBuilds;
before(async () => {
  builds = await openBuilds(shellSteps);
});
after(() => builds.close());

const page = 'mkdir out && echo hello > out/index.html\n';

/** A file whose removal builds wait for. */
function openGate(name: string): { readonly waits: string; open(): void } {
  const file = path.join(builds.folder, `gate-${name}`);
  writeFileSync(file, '');
  return {
    waits: `echo waiting; while [ -e ${file} ]; do sleep 0.02; done\n`,
    open: () => rmSync(file, { force: true }),
  };
}

test('the only organization of a platform gets all slots', async () => {
  const builder = await builds.start({ concurrency: 2 });
  const gate = openGate('alone');
  const { push } = await builds.project('alone');
  const build = { 'build.sh': `${gate.waits}${page}` };
  const one = await push(build, 'one');
  const two = await push(build, 'two');
  await builds.logged(one.id, 'waiting');
  await builds.logged(two.id, 'waiting');
  gate.open();
  for (const { id } of [one, two]) assert.equal((await builds.ended(id)).reason, null);
  await builder.close();
});

test('an organization with a running build does not get the last free slot', async () => {
  const builder = await builds.start({ concurrency: 3 });
  const gate = openGate('busy');
  const busy = await builds.project('busy');
  const build = { 'build.sh': `${gate.waits}${page}` };
  const pushed: { readonly id: string }[] = [];
  for (const branch of ['one', 'two', 'three', 'four']) pushed.push(await busy.push(build, branch));
  await until(async () => (await waiting(pushed)).length >= 2);
  const neighbour = await builds.project('neighbour');
  const { id } = await neighbour.push({ 'build.sh': page });
  assert.equal((await builds.ended(id)).reason, null);
  assert.equal((await waiting(pushed)).length, 2);
  gate.open();
  for (const each of pushed) assert.equal((await builds.ended(each.id)).reason, null);
  await builder.close();
});

test('the organization with less build time comes first, however long the other has waited', async () => {
  const builder = await builds.start({ concurrency: 1 });
  const first = openGate('first');
  const later = openGate('later');
  const busy = await builds.project('one-place');
  const one = await busy.push({ 'build.sh': `${first.waits}sleep 0.1\n${page}` }, 'one');
  await builds.logged(one.id, 'waiting');
  const two = await busy.push({ 'build.sh': `${later.waits}${page}` }, 'two');
  const neighbour = await builds.project('other-place');
  const { id } = await neighbour.push({ 'build.sh': page });
  first.open();
  assert.equal((await builds.ended(id)).reason, null);
  assert.equal((await builds.deployment(two.id)).artifact, null);
  later.open();
  assert.equal((await builds.ended(two.id)).reason, null);
  await builder.close();
});

/** Ids of those that are being built. */
async function waiting(pushed: readonly { readonly id: string }[]): Promise<string[]> {
  const rows = await builds.sql<{ id: string }[]>`
    SELECT id FROM control.deployment WHERE status = 'building' AND id = ANY(${pushed.map(({ id }) => id)})`;
  return rows.map(({ id }) => id);
}
