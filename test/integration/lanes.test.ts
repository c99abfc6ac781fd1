// A deployment's requests and its events have an isolate each: what an event burns or breaks, the site does not notice.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventHandlers, eventKinds as kinds, eventOf as events } from '#test/setup/events.ts';
import { startHandler, type TestHandler, type WorkerSource } from '#test/setup/handler.ts';
import { until } from '#test/setup/until.ts';

const site = `
let count = 0;
async function work(what) {
  if (what === 'spin') for (;;);
  if (what === 'grow') for (const kept = []; ;) kept.push(new Array(500_000).fill(1.5));
  console.log('event ' + ++count);
}
export default {
  fetch: () => new Response(String(++count)),
  ${eventHandlers}
};`;

/** On a machine that is too busy to give it its budget, an isolate is given up. */
const burned = /^(?:cpu_limit_exceeded|isolate_lost|isolate_replaced)$/;
const all = (ms: number): { free: number; pro: number; enterprise: number } => ({ free: ms, pro: ms, enterprise: ms });

const busy = ['busy0', 'busy1', 'busy2'];
/** Their timers have more CPU than others. */
const burning = ['burning0', 'burning1'];
const busySite = `export default { fetch() { // NAME
  let x = 1;
  for (let left = 3_000_000; left > 0; left--) x = (x * 48271) % 2147483647;
  return new Response('done ' + (x > 0));
} };`;

let handler: TestHandler;

before(async () => {
  const workers: Record<string, string | WorkerSource> = Object.fromEntries(
    [...kinds, 'counting', 'leaving', 'failing'].map((name) => [name, `${site} // ${name}`]),
  );
  workers['failing'] = `for (;;); ${site}`;
  // Where memory is slow, filling it takes long.
  workers['grown'] = { plan: 'enterprise', files: `${site} // grown` };
  for (const name of burning) workers[name] = { plan: 'pro', files: `${site} // ${name}` };
  for (const name of busy) workers[name] = busySite.replace('NAME', name);
  handler = await startHandler(workers, {
    cpu: {
      http: all(1000),
      queue: all(200),
      timer: { free: 200, pro: 600, enterprise: 1200 },
      cron: all(200),
      workflow: all(200),
    },
    startupCpuMs: 200,
    eventIsolateIdleMs: 200,
    isolateMemoryMb: 32,
  });
});
after(() => handler.close());

for (const kind of kinds) {
  test(`requests are answered while events of kind ${kind} spin, one after the other`, async () => {
    assert.equal((await handler.fetch(kind)).text, '1');
    let asked = 1;
    for (let round = 0; round < 2; round++) {
      let end: { outcome: string } | null = null;
      const delivered = handler.deliver(kind, kind, events[kind]('spin')).then((ended) => (end = ended));
      await until(() => end !== null || handler.handler.running().some((key) => key.startsWith(`${kind}/`)));
      for (let more = 0; more < 10; more++)
        assert.equal((await handler.fetch(kind)).text, String(++asked), 'the same isolate goes on');
      assert.equal(end, null, 'the event spins');
      assert.match((await delivered).outcome, burned);
      assert.equal((await handler.fetch(kind)).text, String(++asked));
    }
  });
}

test('events of all kinds that spin at once leave the site alone', async () => {
  assert.match((await handler.fetch('queue')).text, /^\d+$/);
  let running = kinds.length;
  const delivered = kinds.map(async (kind) => {
    const { outcome } = await handler.deliver('queue', kind, events[kind]('spin'));
    running--;
    return outcome;
  });
  await until(() => running === 0 || handler.handler.running().some((key) => key.startsWith('queue/')));
  for (let more = 0; more < 10; more++) assert.equal((await handler.fetch('queue')).status, 200);
  assert.ok(running > 0);
  // Those that had not begun are lost with their isolate, which the broker takes for no attempt.
  for (const outcome of await Promise.all(delivered)) assert.ok(burned.test(outcome), outcome);
});

test('sites whose requests last are answered while two events burn', async () => {
  const ends = burning.map(async (name) => {
    const { outcome } = await handler.deliver(name, 'timer', events.timer('spin'));
    ended++;
    return outcome;
  });
  let ended = 0;
  await until(
    () => ended > 0 || burning.every((name) => handler.handler.running().some((key) => key.startsWith(`${name}/`))),
  );
  // Three at a time take each other's places.
  for (let round = 0; round < 2; round++) {
    const answers = await Promise.all(busy.map((name) => handler.fetch(name)));
    assert.deepEqual([...new Set(answers.map(({ text }) => text))], ['done true']);
  }
  assert.equal(ended, 0, 'both burn');
  for (const outcome of await Promise.all(ends)) assert.match(outcome, burned);
});

test('an event that takes all memory ends its own isolate, and no request', async () => {
  assert.equal((await handler.fetch('grown')).text, '1');
  assert.equal((await handler.deliver('grown', 'timer', events.timer('grow'))).outcome, 'memory_limit_exceeded');
  assert.equal((await handler.fetch('grown')).text, '2');
});

test('requests and events count apart, in one isolate each', async () => {
  const before = handler.engine.pool.live;
  assert.equal((await handler.fetch('counting')).text, '1');
  assert.equal(handler.engine.pool.live, before + 1);
  for (const count of [1, 2]) {
    assert.equal((await handler.deliver('counting', 'queue', events.queue('count'))).outcome, 'ok');
    await handler.logged('counting', new RegExp(`^event ${count}$`));
  }
  assert.equal((await handler.fetch('counting')).text, '2');
});

test('the isolate for events goes when nothing has come for a while, and that for requests stays', async () => {
  assert.equal((await handler.fetch('leaving')).text, '1');
  assert.equal((await handler.deliver('leaving', 'queue', events.queue('count'))).outcome, 'ok');
  const sites = [...kinds, ...busy, 'grown', 'counting', 'leaving'];
  await until(() => handler.engine.pool.live === sites.length);
  assert.equal((await handler.fetch('leaving')).text, '2');
  await handler.logged('leaving', /^event 1$/);
  assert.equal((await handler.deliver('leaving', 'queue', events.queue('count'))).outcome, 'ok');
  assert.equal(
    handler.logs.filter(({ project, text }) => project === 'leaving' && text === 'event 1').length,
    2,
    'it begins anew',
  );
});

test('a worker that does not start fails its events, and pauses them apart from its requests', async () => {
  assert.equal(
    (await handler.deliver('failing', 'queue', events.queue('count'))).outcome,
    'startup_cpu_limit_exceeded',
  );
  const began = handler.engine.counters.report().find(([name]) => name === 'platform_isolates_started_total')![2];
  assert.equal(
    (await handler.deliver('failing', 'queue', events.queue('count'))).outcome,
    'startup_cpu_limit_exceeded',
  );
  const now = handler.engine.counters.report().find(([name]) => name === 'platform_isolates_started_total')![2];
  assert.equal(now, began, 'not started again at once');
  const { headers } = await handler.fetch('failing');
  assert.equal(headers['x-platform-error'], 'startup_cpu_limit_exceeded');
});
