// The cases of the event stores' contract about timers and schedules. Run by event-stores.ts.
import assert from 'node:assert/strict';
import { sender, T0, type Fact } from './event-stores-case.ts';

export function timerCases(fact: Fact): void {
  const timer = { dueAt: T0 + 1000, payload: '{"a":1}', intervalMs: null, cron: null, timezone: null };

  fact('a timer is what it was set to last, and listed in the order of ids', async ({ timer: timers }) => {
    const at = { namespace: 'shop', resource: 'reminders' };
    for (const id of ['b', 'a/2', 'a/1', 'Z', 'a%']) await timers.set(at, sender, { ...timer, id }, T0);
    await timers.set(at, sender, { ...timer, id: 'b', dueAt: T0 + 9, intervalMs: 5000, payload: '2' }, T0);
    assert.deepEqual(await timers.get(at, 'b'), {
      id: 'b',
      scheduledTime: T0 + 9,
      payload: '2',
      intervalMs: 5000,
      cron: null,
      timezone: null,
    });
    assert.equal(await timers.get({ ...at, namespace: 'other' }, 'b'), null);
    const ids = async (page: { prefix: string; after: string; limit: number }): Promise<[string, boolean]> => {
      const { timers: found, more } = await timers.list(at, page);
      return [found.map(({ id }) => id).join(' '), more];
    };
    assert.deepEqual(await ids({ prefix: '', after: '', limit: 10 }), ['Z a% a/1 a/2 b', false]);
    assert.deepEqual(await ids({ prefix: 'a', after: 'a%', limit: 1 }), ['a/1', true]);
    assert.deepEqual(await ids({ prefix: 'a%', after: '', limit: 9 }), ['a%', false]);
    await timers.delete(at, 'b');
    await timers.delete(at, 'b');
    assert.equal(await timers.get(at, 'b'), null);
  });

  fact('a page of timers ends early where their payloads are large', async ({ timer: timers }) => {
    const at = { namespace: 'shop', resource: 'large' };
    const payload = JSON.stringify('x'.repeat(120_000));
    const ids = Array.from({ length: 80 }, (_, index) => `t${String(index).padStart(2, '0')}`);
    for (const id of ids) await timers.set(at, sender, { ...timer, id, payload }, T0);
    const seen: string[] = [];
    const pages: number[] = [];
    for (let more = true, after = ''; more;) {
      const page = await timers.list(at, { prefix: 't', after, limit: 100 });
      seen.push(...page.timers.map(({ id }) => id));
      pages.push(page.timers.length);
      ({ more } = page);
      after = seen.at(-1)!;
    }
    assert.deepEqual(seen, ids);
    assert.deepEqual(pages, [35, 35, 10]);
  });

  fact('a timer that is set anew while it fires stays as it was set', async ({ timer: timers }) => {
    const at = { namespace: 'shop', resource: 'reminders' };
    await timers.set(at, sender, { ...timer, id: 'a' }, T0);
    const lane = await timers.lanes.open('shop', 'reminders');
    const [row] = await timers.claims.claim([lane], 5, 'me.1', T0 + 1000, T0 + 9000);
    await timers.set(at, sender, { ...timer, id: 'a', dueAt: T0 + 5000 }, T0);
    await timers.settle(row!, null, 'ok', T0 + 1001);
    assert.equal((await timers.get(at, 'a'))?.scheduledTime, T0 + 5000);
    const [again] = await timers.claims.claim([lane], 5, 'me.1', T0 + 5000, T0 + 9000);
    assert.deepEqual([again!.attempt, again!.scheduled_at], [1, T0 + 5000]);
    await timers.settle(again!, null, 'ok', T0 + 5001);
    assert.equal(await timers.get(at, 'a'), null);
  });

  fact(
    'there are at most so many timers of a resource',
    async ({ timer: timers }) => {
      const at = { namespace: 'shop', resource: 'reminders' };
      for (const id of ['a', 'b', 'c']) await timers.set(at, sender, { ...timer, id }, T0);
      await assert.rejects(timers.set(at, sender, { ...timer, id: 'd' }, T0), /Limit of timers reached: 3/);
      await timers.delete(at, 'a');
      await timers.set(at, sender, { ...timer, id: 'd' }, T0);
    },
    { timersMax: 3 },
  );

  fact(
    'the schedules of a project are those of its current deployment; an unchanged one keeps its time',
    async ({ cron }) => {
      const at = { namespace: 'shop', resource: 'shop' };
      const by = { project: 'shop', branch: 'main' };
      const hourly = { name: 'HOURLY', schedule: '0 * * * *', timezone: 'UTC' };
      const nightly = { name: 'NIGHTLY', schedule: '0 3 * * *', timezone: 'Europe/Vienna' };
      const now = Date.parse('2026-11-21T10:30:00Z');
      await cron.declare(at, by, [hourly, nightly], now);
      const times = async (): Promise<string[]> =>
        (await cron.list(at)).map(({ name, nextAt }) => `${name} ${new Date(nextAt).toISOString()}`);
      assert.deepEqual(await times(), ['HOURLY 2026-11-21T11:00:00.000Z', 'NIGHTLY 2026-11-22T02:00:00.000Z']);
      // It was due at 11:00 and has not fired yet: declaring it again does not lose that.
      await cron.declare(at, by, [hourly, { ...nightly, timezone: 'UTC' }], now + 3_600_000);
      assert.deepEqual(await times(), ['HOURLY 2026-11-21T11:00:00.000Z', 'NIGHTLY 2026-11-22T03:00:00.000Z']);
      assert.equal(await cron.trigger(at, 'NIGHTLY', now), true);
      assert.equal(await cron.trigger(at, 'NO SUCH', now), false);
      assert.deepEqual((await times())[1], 'NIGHTLY 2026-11-21T10:30:00.000Z');
      await cron.declare(at, by, [hourly], now);
      assert.equal((await times()).length, 1);
    },
  );
}
