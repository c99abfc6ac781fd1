// A handful of the attacks of attacks/, so that every run of the tests has some of each kind. `npm run test:hostile` runs all of
// them and holds the victim's waiting times as well, which a busy test run does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runAttack, type Attack } from '#test/setup/hostile.ts';

for (const name of [
  'spin-after-await',
  'spin-in-number-format',
  'detach-what-is-sent',
  'grow-wasm-inside',
  'subarrays-of-a-large-buffer',
  'smuggle-obscured-chunked',
  'prepare-stack-trace',
  'redirect-to-private',
  'cache-of-another-project',
]) {
  test(`${name} hurts nobody`, async () => {
    const { default: attack } = (await import(`./attacks/${name}.ts`)) as { default: Attack };
    const verdict = await runAttack(attack);
    if (!verdict.byTimeAlone) assert.deepEqual(verdict.objections, [], `it got ${verdict.answer}`);
    assert.ok(verdict.victim.requests > 0);
  });
}
