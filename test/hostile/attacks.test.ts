// An attack of each kind of attacks/, all on one platform, so that every run of the tests has some.
// `npm test -- hostile` runs all of them, each on a platform of its own, and holds the victim's waiting times as well.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { attackKinds, openArena, unexpectedIn, type Arena, type Attack } from '#test/setup/hostile.ts';

/** Of a loop that burns all that it may. */
const FLOOD_MS_MAX = 300;

let arena: Arena;
before(async () => {
  arena = await openArena({ WORKER_EGRESS_ALLOW: 'loopback' }, FLOOD_MS_MAX);
});
after(() => arena.close());

test('of the answers that an attack gets, those that it must get are asked for, and those that it may not get are seen', () => {
  const expect = { must: ['503 deployment_quarantined'], may: ['ECONNRESET'] };
  assert.equal(unexpectedIn(expect, '503 deployment_quarantined, ECONNRESET'), null);
  assert.equal(unexpectedIn(expect, 'ECONNRESET'), 'the answers lack 503 deployment_quarantined');
  assert.equal(unexpectedIn(expect, '503 deployment_quarantined, ECONNREFUSED'), 'the answers hold ECONNREFUSED');
  assert.equal(unexpectedIn('200 a', '200 b'), 'the answer is not 200 a');
  assert.equal(unexpectedIn(['200 a', '200 b'], '200 b'), null);
});

const chosen: Readonly<Record<(typeof attackKinds)[number], string>> = {
  memory: 'subarrays-of-a-large-buffer',
  cpu: 'spin-after-await',
  protocol: 'smuggle-obscured-chunked',
  escape: 'prepare-stack-trace',
  egress: 'redirect-to-private',
  tenancy: 'cache-of-another-project',
};

for (const kind of attackKinds) {
  const name = chosen[kind];
  test(`${name} hurts nobody`, async () => {
    const { default: attack } = (await import(`./attacks/${name}.ts`)) as { default: Attack };
    assert.equal(attack.kind, kind);
    const { byTimeAlone, objections, answer, victim } = await arena.run(name, attack);
    if (!byTimeAlone) assert.deepEqual(objections, [], `it got ${answer}`);
    assert.ok(victim.requests > 0);
  });
}
