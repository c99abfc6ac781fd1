// The cases of the broker's contract about timers and schedules. Run by broker.ts.
import assert from 'node:assert/strict';
import type { Recipient } from '#runtime/broker/delivery/delivery.ts';
import { until } from '#test/setup/until.ts';
import { done, end, owner, sender, type Deliver, type Fact } from './broker-case.ts';

export function timerCases(fact: Fact): void {
  const reminders = { namespace: 'shop', resource: 'reminders' };
  const timer = { payload: '{"a":1}', intervalMs: null, cron: null, timezone: null };

  fact('a timer fires once across brokers, with what it was set to', async ({ stores, start, now }) => {
    const seen: unknown[] = [];
    const deliver: Deliver = (event, kind) => {
      seen.push([kind, event]);
      return done();
    };
    await start(deliver);
    await start(deliver);
    const dueAt = now() + 30;
    await stores.timer.set(reminders, { ...sender, binding: 'TIMER' }, { ...timer, id: 'a', dueAt }, now());
    await until(async () => (await stores.timer.get(reminders, 'a')) === null);
    const event = {
      binding: 'TIMER',
      id: 'a',
      scheduledTime: dueAt,
      intervalMs: null,
      attempt: 1,
      attemptsMax: 4,
      payload: { a: 1 },
    };
    assert.deepEqual(seen, [['timer', event]]);
  });

  fact(
    'an interval that was missed fires once after a downtime, then at its old pace',
    async ({ stores, start, now, pass }) => {
      const first = now() + 60_000;
      await stores.timer.set(reminders, sender, { ...timer, id: 'a', dueAt: first, intervalMs: 60_000 }, now());
      pass(3_600_000);
      const seen: number[] = [];
      await start((event) => {
        seen.push(event['scheduledTime'] as number);
        return done();
      });
      await until(async () => (await stores.timer.get(reminders, 'a'))!.scheduledTime > first);
      const next = (await stores.timer.get(reminders, 'a'))!.scheduledTime;
      assert.deepEqual(seen, [first]);
      assert.equal((next - first) % 60_000, 0);
      assert.ok(next > now() && next <= now() + 60_000);
    },
  );

  fact('a clock that jumps back does not fire a timer twice', async ({ stores, start, now, pass }) => {
    pass(7_200_000);
    const seen: number[] = [];
    await start((event) => {
      seen.push(event['scheduledTime'] as number);
      return done();
    });
    const dueAt = now();
    await stores.timer.set(reminders, sender, { ...timer, id: 'a', dueAt, intervalMs: 3_600_000 }, now());
    await until(
      async () => seen.length === 1 && (await stores.timer.get(reminders, 'a'))!.scheduledTime === dueAt + 3_600_000,
    );
    pass(-7_200_000);
    await stores.timer.set(reminders, sender, { ...timer, id: 'probe', dueAt: now() }, now());
    await until(async () => (await stores.timer.get(reminders, 'probe')) === null);
    assert.deepEqual(seen, [dueAt, seen[1]]);
  });

  fact('a timer that fails is tried again, and given up after four times', async ({ stores, start, now }) => {
    let tries = 0;
    await start(() => {
      tries++;
      return end('worker_threw');
    });
    await stores.timer.set(reminders, sender, { ...timer, id: 'a', dueAt: now() }, now());
    await until(async () => (await stores.timer.get(reminders, 'a')) === null);
    assert.equal(tries, 4);
  });

  fact('a timer that its own handler sets anew goes on', async ({ stores, start, now }) => {
    let fired = 0;
    await start(async () => {
      if (++fired < 3) await stores.timer.set(reminders, sender, { ...timer, id: 'a', dueAt: now() }, now());
      return done();
    });
    await stores.timer.set(reminders, sender, { ...timer, id: 'a', dueAt: now() }, now());
    await until(async () => (await stores.timer.get(reminders, 'a')) === null);
    assert.equal(fired, 3);
  });

  fact('a schedule runs when it is due, and not twice for one time', async ({ stores, start, now, pass }) => {
    const at = { namespace: 'shop', resource: 'shop' };
    const seen: unknown[] = [];
    const recipients: Recipient[] = [];
    await start(
      (event, kind) => {
        seen.push([kind, event]);
        return done({ noRetry: false });
      },
      { resolve: (recipient) => (recipients.push(recipient), owner.deployment) },
    );
    const hourly = [{ name: 'HOURLY', schedule: '0 * * * *', timezone: 'UTC' }];
    await stores.cron.declare(at, { project: 'shop', branch: 'main' }, hourly, now());
    const { nextAt } = (await stores.cron.list(at))[0]!;
    pass(nextAt - now() + 10);
    await until(async () => (await stores.cron.list(at))[0]!.lastOutcome === 'ok');
    assert.deepEqual(seen, [
      ['cron', { name: 'HOURLY', cron: '0 * * * *', scheduledTime: nextAt, attempt: 1, attemptsMax: 4 }],
    ]);
    assert.deepEqual([recipients[0]!.kind, recipients[0]!.project, recipients[0]!.branch], ['cron', 'shop', 'main']);
    assert.equal((await stores.cron.list(at))[0]!.nextAt, nextAt + 3_600_000);
  });
}
