// A handful of the attacks of attacks/, so that every run of the tests has some of each kind. `npm test -- hostile`
// runs all of them and holds the victim's waiting times as well, which a busy test run does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runAttack, unexpectedIn, type Attack } from '#test/setup/hostile.ts';

test('of the answers that an attack gets, those that it must get are asked for, and those that it may not get are seen', () => {
  const expect = { must: ['503 deployment_quarantined'], may: ['ECONNRESET'] };
  assert.equal(unexpectedIn(expect, '503 deployment_quarantined, ECONNRESET'), null);
  assert.equal(unexpectedIn(expect, 'ECONNRESET'), 'the answers lack 503 deployment_quarantined');
  assert.equal(unexpectedIn(expect, '503 deployment_quarantined, ECONNREFUSED'), 'the answers hold ECONNREFUSED');
  assert.equal(unexpectedIn('200 a', '200 b'), 'the answer is not 200 a');
  assert.equal(unexpectedIn(['200 a', '200 b'], '200 b'), null);
});

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
