// A deployment that kills engines: the supervisor learns whose code it was, quarantines it, and releases it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';

const killer = `export default { fetch(request) { if (new URL(request.url).pathname === '/kill') return new Response(String('x'.repeat(2 ** 28).split('').length)); return new Response('killer is well'); } };`;

let platform: TestPlatform;

before(async () => {
  platform = await startPlatform(
    {
      killer,
      victim: `export default { fetch: () => new Response('victim is well') };`,
    },
    { HANDLER_PROCESSES: '2', QUARANTINE_BACKOFF_MS: '300', QUARANTINE_PROBATION_MS: '1500' },
  );
});
after(() => platform.close());

const killed = async (deaths: number): Promise<void> => {
  await platform.fetch('killer', '/kill').catch(() => null);
  await until(async () => (await platform.state()).deaths >= deaths);
};

test('after its second kill a deployment sits in quarantine, while its neighbour never fails twice in a row', async () => {
  await platform.answers('victim', 'victim is well');
  let failures = 0;
  let worst = 0;
  let over = false;
  const probe = (async () => {
    while (!over) {
      const answer = await platform.fetch('victim').catch(() => null);
      failures = answer?.text === 'victim is well' ? 0 : failures + 1;
      worst = Math.max(worst, failures);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();

  await platform.answers('killer', 'killer is well');
  await killed(1);
  const first = await until(async () => (await platform.state()).ledger[0]);
  assert.match(first.deployment, /^killer\/d/);
  assert.deepEqual([first.exact, first.suspected], [1, 0]);

  await platform.answers('killer', 'killer is well');
  await killed(2);
  const [apart] = await until(async () => {
    const { quarantine } = await platform.state();
    return quarantine[0]?.strikes === 2 && quarantine;
  });
  assert.equal(apart?.deployment, first.deployment);

  await platform.answers('killer', 'killer is well');
  const own = (await platform.state()).engines.find(({ role }) => role === 'quarantine');
  assert.equal(own?.place, first.deployment);

  await killed(3);
  const { quarantine, engines } = await platform.state();
  assert.equal(quarantine[0]?.strikes, 3);
  assert.equal(engines.filter(({ role, state }) => role === 'serving' && state === 'listening').length, 2);
  over = true;
  await probe;
  assert.ok(worst <= 1, `the victim failed ${worst} times in a row`);
});

test('until its pause is over it is refused, with the time to come again', async () => {
  const own = await startPlatform({ killer }, { QUARANTINE_BACKOFF_MS: '3600000' });
  await own.answers('killer', 'killer is well');
  await own.fetch('killer', '/kill').catch(() => null);
  await until(async () => (await own.state()).ledger[0]);
  // Until the other engine knows that it is gone, it answers `engine_lost`.
  const paused = await until(async () => {
    const answer = await own.fetch('killer').catch(() => null);
    return answer?.headers['x-platform-error'] === 'deployment_quarantined' ? answer : null;
  });
  assert.equal(paused.status, 503);
  assert.match(String(paused.headers['retry-after']), /^\d+$/);
  await own.close();
});

test('it is released after it has behaved well for a while', async () => {
  await platform.answers('killer', 'killer is well');
  await until(async () => {
    await platform.fetch('killer');
    return (await platform.state()).quarantine.length === 0;
  });
  await platform.answers('killer', 'killer is well');
  const { ledger, engines } = await platform.state();
  assert.equal(ledger[0]?.exact, 1);
  assert.deepEqual(
    engines.filter(({ role, state }) => role === 'quarantine' && state !== 'draining'),
    [],
  );
});

test('whoever killed it with its own hands is not blamed on those that were running', async () => {
  const { ledger, lostRequests } = await platform.state();
  assert.deepEqual(
    ledger.map(({ deployment }) => deployment.split('/')[0]),
    ['killer'],
  );
  assert.ok(lostRequests >= 0);
});

test('a deployment that loses an engine threads by heap overflows is quarantined with the second, and its neighbours do not notice', async () => {
  const own = await startPlatform(
    {
      hog: `export default { fetch(request) { if (new URL(request.url).pathname === '/map') { const map = new Map(); for (let i = 0; ; i++) map.set(i, { i }); } return new Response('hog'); } };`,
      victim: `export default { fetch: () => new Response('victim is well') };`,
    },
    { WORKER_MEMORY_MB: '16', WORKER_CPU_LIMIT_MS_FREE: '0', QUARANTINE_BACKOFF_MS: '100' },
  );
  const pid = own.enginePid;
  const apart = await until(async () => {
    await own.fetch('hog', '/map').catch(() => null);
    assert.equal((await own.fetch('victim')).text, 'victim is well');
    return (await own.state()).quarantine.find(({ strikes }) => strikes >= 2);
  });
  assert.equal(apart.deployment.split('/')[0], 'hog');
  assert.equal(apart.reason, 'its heap overflowed inside V8, which cost a thread');
  const { deaths, engines } = await own.state();
  assert.deepEqual([deaths, engines.find(({ role }) => role === 'serving')?.pid], [0, pid]);
  await own.answers('hog', 'hog');
  await own.close();
});
