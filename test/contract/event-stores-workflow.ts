// The cases of the event stores' contract about runs of workflows. Run by event-stores.ts.
import assert from 'node:assert/strict';
import type { StepUpdate } from '#runtime/engine/bindings/workflow.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import { DAY, owner, T0, type Fact } from './event-stores-case.ts';

export function workflowCases(fact: Fact): void {
  const flow = { namespace: 'shop', resource: 'orders' };
  const claimRun = async (
    { workflow }: EventStores,
    at: number,
    lease = 'me',
  ): ReturnType<EventStores['workflow']['claims']['claim']> =>
    workflow.claims.claim([await workflow.lanes.open('shop', 'orders')], 10, `${lease}.${at}`, at, at + 60_000);

  fact('a run is started once, however often its id is triggered', async (stores) => {
    const { workflow } = stores;
    await Promise.all([1, 2, 3].map((n) => workflow.trigger(flow, owner, { id: 'order-7', input: `${n}` }, T0)));
    const found = await workflow.get(flow, 'order-7');
    assert.deepEqual(
      [found!.status, found!.deployment, found!.createdAt, found!.startedAt],
      ['pending', 'd000000000001', T0, null],
    );
    assert.equal((await claimRun(stores, T0)).length, 1);
    assert.equal(await workflow.get({ ...flow, namespace: 'other' }, 'order-7'), null);
  });

  fact('steps are written down, given back, and done once', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, T0);
    const [row] = await claimRun(stores, T0);
    const begun = await workflow.begin(row!, T0);
    assert.deepEqual(begun?.steps, []);
    const { lease } = begun!;
    assert.equal(
      await workflow.step('shop', lease, '__proto__', { kind: 'done', result: '{"ok":true}', startedAt: T0 }, T0 + 1),
      true,
    );
    const failure = {
      kind: 'failed',
      error: '{"name":"Error","message":"no"}',
      attempts: 1,
      wakeAt: T0 + 5000,
    } as const;
    assert.equal(await workflow.step('shop', lease, 'flaky', failure, T0 + 2), true);
    assert.equal(await workflow.step('shop', lease, 'nap', { kind: 'sleep', wakeAt: T0 + 3000 }, T0 + 2), true);
    assert.equal(await workflow.hasProgressed(row!, T0 + 1), true);
    await workflow.settle(row!, { status: 'suspended' }, T0 + 3);
    const asleep = await workflow.get(flow, 'r');
    assert.deepEqual([asleep!.status, asleep!.startedAt], ['pending', T0]);
    assert.deepEqual(await claimRun(stores, T0 + 2999), []);
    const [again] = await claimRun(stores, T0 + 3000);
    assert.equal(again!.attempt, 1);
    const later = await workflow.begin(again!, T0 + 3000);
    assert.deepEqual(
      later!.steps.map(({ name, kind, status, attempts, result, wakeAt }) => [
        name,
        kind,
        status,
        attempts,
        result,
        wakeAt,
      ]),
      [
        ['__proto__', 'run', 'done', 0, '{"ok":true}', null],
        ['flaky', 'run', 'waiting', 1, null, T0 + 5000],
        ['nap', 'sleep', 'done', 0, null, T0 + 3000],
      ],
    );
    await workflow.step('shop', later!.lease, 'flaky', { kind: 'done', result: '1' }, T0 + 3001);
    await workflow.settle(again!, { status: 'completed', output: '"fin"' }, T0 + 3002);
    const ended = await workflow.get(flow, 'r');
    assert.deepEqual(
      [ended!.status, ended!.output, ended!.startedAt, ended!.completedAt],
      ['completed', '"fin"', T0, T0 + 3002],
    );
    const history = await workflow.history(flow, 'r');
    assert.deepEqual(
      history!.steps.map((step) => [step.name, step.status, step.attempts, step.startedAt, step.endedAt]),
      [
        ['__proto__', 'done', 0, T0, T0 + 1],
        ['flaky', 'done', 1, T0 + 2, T0 + 3001],
        ['nap', 'done', 0, T0 + 2, T0 + 3000],
      ],
    );
  });

  fact(
    'an attempt whose lease is lost changes nothing any more, and no namespace writes into another',
    async (stores) => {
      const { workflow } = stores;
      await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, T0);
      const [old] = await claimRun(stores, T0, 'old');
      const { lease: oldLease } = (await workflow.begin(old!, T0))!;
      const [row] = await claimRun(stores, T0 + 60_000, 'new');
      assert.equal(await workflow.begin(old!, T0 + 60_000), null);
      const { lease } = (await workflow.begin(row!, T0 + 60_000))!;
      assert.equal(await workflow.step('shop', oldLease, 'late', { kind: 'done', result: '1' }, T0 + 60_001), false);
      assert.equal(await workflow.waitForEvent('shop', oldLease, { name: 'e', type: 'x', timeoutAt: null }, T0), false);
      assert.equal(await workflow.step('thief', lease, 'mine', { kind: 'done', result: '1' }, T0 + 60_001), false);
      await workflow.log('thief', lease, { message: 'hello', content: null }, T0);
      await workflow.settle(old!, { status: 'completed', output: '1' }, T0 + 60_002);
      assert.equal((await workflow.get(flow, 'r'))!.status, 'running');
      assert.deepEqual(await workflow.history(flow, 'r'), { steps: [], log: [] });
    },
  );

  fact(
    'step updates of many runs at once are stored for each, and one that lost its lease learns of it',
    async (stores) => {
      const { workflow } = stores;
      const ids = Array.from({ length: 12 }, (_, n) => `r${n}`);
      await Promise.all(ids.map((id) => workflow.trigger(flow, owner, { id, input: '{}' }, T0)));
      const rows = [...(await claimRun(stores, T0, 'a')), ...(await claimRun(stores, T0, 'b'))];
      const leases = await Promise.all(rows.map(async (row) => (await workflow.begin(row, T0))!.lease));
      const update = (lease: string, name: string, result: string): Promise<boolean> =>
        workflow.step('shop', lease, name, { kind: 'done', result }, T0 + 1);
      const [first, ...others] = leases;
      await workflow.settle(rows[0]!, { status: 'suspended' }, T0 + 1);
      const stored = await Promise.all([
        update(first!, 'a', '0'),
        ...others.map((lease, n) => update(lease, 'a', `${n}`)),
        ...others.map((lease, n) => update(lease, 'b', `"${'x'.repeat(n)}"`)),
        update(others[0]!, 'a', '"again"'),
      ]);
      assert.deepEqual(stored, [false, ...others.map(() => true), ...others.map(() => true), false]);
      const results = await Promise.all(
        ids.map(async (id) => (await workflow.history(flow, id))!.steps.map(({ name, result }) => `${name}=${result}`)),
      );
      const expected = rows.map(
        ({ execution_id: id }, n) => [id, n === 0 ? [] : [`a=${n - 1}`, `b="${'x'.repeat(n - 1)}"`]] as const,
      );
      assert.deepEqual(
        new Map(ids.map((id, n) => [id, results[n]!.toSorted()])),
        new Map(expected.toSorted(([a], [b]) => Number(a.slice(1)) - Number(b.slice(1)))),
      );
    },
  );

  fact(
    'an event that comes first waits for the run, one that comes later wakes it, a late one is for the next wait',
    async (stores) => {
      const { workflow } = stores;
      await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, T0);
      await workflow.sendEvent(flow, 'r', { type: 'paid', payload: '1' }, T0);
      await workflow.sendEvent(flow, 'r', { type: 'paid', payload: '2' }, T0 + 1);
      const [row] = await claimRun(stores, T0 + 1);
      const { lease } = (await workflow.begin(row!, T0 + 1))!;
      const wait = (
        name: string,
        type: string,
        timeoutAt: number | null = null,
      ): ReturnType<typeof workflow.waitForEvent> =>
        workflow.waitForEvent('shop', lease, { name, type, timeoutAt }, T0 + 2);
      assert.equal(await wait('first', 'paid'), `{"type":"paid","payload":1,"timestamp":${T0}}`);
      assert.equal(await wait('second', 'paid'), `{"type":"paid","payload":2,"timestamp":${T0 + 1}}`);
      assert.equal(await wait('third', 'shipped'), null);
      await workflow.settle(row!, { status: 'suspended' }, T0 + 3);
      assert.deepEqual(await claimRun(stores, T0 + DAY), []);
      await workflow.sendEvent(flow, 'r', { type: 'shipped', payload: '"x"' }, T0 + DAY);
      const [again] = await claimRun(stores, T0 + DAY);
      const { steps } = (await workflow.begin(again!, T0 + DAY))!;
      assert.equal(steps[2]!.result, `{"type":"shipped","payload":"x","timestamp":${T0 + DAY}}`);
    },
  );

  fact('an event that comes while the attempt still runs is not lost when it suspends', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, T0);
    const [row] = await claimRun(stores, T0);
    const { lease } = (await workflow.begin(row!, T0))!;
    assert.equal(await workflow.waitForEvent('shop', lease, { name: 'e', type: 'go', timeoutAt: T0 + DAY }, T0), null);
    await workflow.sendEvent(flow, 'r', { type: 'go', payload: 'null' }, T0 + 1);
    await workflow.settle(row!, { status: 'suspended' }, T0 + 2);
    const [again] = await claimRun(stores, T0 + 2);
    assert.equal((await workflow.begin(again!, T0 + 2))!.steps[0]!.status, 'done');
  });

  fact('a wait that nothing ends in time fails', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, T0);
    const [row] = await claimRun(stores, T0);
    const { lease } = (await workflow.begin(row!, T0))!;
    await workflow.waitForEvent('shop', lease, { name: 'e', type: 'go', timeoutAt: T0 + 1000 }, T0);
    await workflow.settle(row!, { status: 'suspended' }, T0 + 1);
    const [again] = await claimRun(stores, T0 + 1000);
    const { steps } = (await workflow.begin(again!, T0 + 1000))!;
    assert.deepEqual([steps[0]!.status, JSON.parse(steps[0]!.error!)['name']], ['failed', 'TimeoutError']);
  });

  fact('a run that is cancelled ends at once, and its updates afterwards do not count', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, T0);
    const [row] = await claimRun(stores, T0);
    const { lease } = (await workflow.begin(row!, T0))!;
    await workflow.cancel(flow, 'r', T0 + 1);
    await workflow.cancel(flow, 'r', T0 + 2);
    assert.equal(await workflow.step('shop', lease, 's', { kind: 'done', result: '1' }, T0 + 2), false);
    await workflow.settle(row!, { status: 'completed', output: '1' }, T0 + 3);
    const found = await workflow.get(flow, 'r');
    assert.deepEqual([found!.status, found!.completedAt], ['cancelled', T0 + 1]);
    await assert.rejects(workflow.cancel(flow, 'none', T0), { code: 'execution_not_found' });
    await assert.rejects(workflow.sendEvent(flow, 'r', { type: 'x', payload: '1' }, T0), { code: 'execution_state' });
  });

  fact('a run that is paused keeps what its step returned, and goes on when it is resumed', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, T0);
    const [row] = await claimRun(stores, T0);
    const { lease } = (await workflow.begin(row!, T0))!;
    await workflow.pause(flow, 'r');
    assert.equal((await workflow.get(flow, 'r'))!.status, 'paused');
    assert.equal(await workflow.step('shop', lease, 's', { kind: 'done', result: '1' }, T0 + 1), false);
    await workflow.settle(row!, { status: 'suspended' }, T0 + 2);
    assert.deepEqual(await claimRun(stores, T0 + DAY), []);
    await workflow.resume(flow, 'r', T0 + DAY);
    const [again] = await claimRun(stores, T0 + DAY);
    assert.equal((await workflow.begin(again!, T0 + DAY))!.steps[0]!.status, 'done');
  });

  fact('a run restarts from the beginning, or from a step, on the deployment that is named', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, T0);
    const [row] = await claimRun(stores, T0);
    const { lease } = (await workflow.begin(row!, T0))!;
    for (const name of ['a', 'b', 'c']) await workflow.step('shop', lease, name, { kind: 'done', result: '1' }, T0);
    await workflow.settle(row!, { status: 'failed', error: '{"name":"Error","message":"x"}' }, T0 + 1);
    await assert.rejects(workflow.restart(flow, 'r', { fromStep: 'z', deployment: null }, T0), /has no step z/);
    await workflow.restart(flow, 'r', { fromStep: 'b', deployment: 'd000000000002' }, T0 + 2);
    const found = await workflow.get(flow, 'r');
    assert.deepEqual([found!.status, found!.error, found!.deployment], ['pending', null, 'd000000000002']);
    const [again] = await claimRun(stores, T0 + 2);
    assert.deepEqual(
      (await workflow.begin(again!, T0 + 2))!.steps.map(({ name }) => name),
      ['a'],
    );
    await workflow.restart(flow, 'r', { fromStep: null, deployment: null }, T0 + 3);
    const [third] = await claimRun(stores, T0 + 3);
    assert.deepEqual((await workflow.begin(third!, T0 + 3))!.steps, []);
  });

  fact(
    'steps, waiting events and log lines of a run have their bounds',
    async (stores) => {
      const { workflow } = stores;
      await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, T0);
      const [row] = await claimRun(stores, T0);
      const { lease } = (await workflow.begin(row!, T0))!;
      for (const name of ['a', 'b']) await workflow.step('shop', lease, name, { kind: 'done', result: '1' }, T0);
      await assert.rejects(workflow.step('shop', lease, 'c', { kind: 'sleep', wakeAt: T0 }, T0), /at most 2 steps/);
      await assert.rejects(
        workflow.waitForEvent('shop', lease, { name: 'd', type: 'x', timeoutAt: null }, T0),
        /at most 2 steps/,
      );
      for (const n of [1, 2]) await workflow.sendEvent(flow, 'r', { type: 'x', payload: `${n}` }, T0);
      await assert.rejects(workflow.sendEvent(flow, 'r', { type: 'x', payload: '3' }, T0), /has 2 unread events/);
      for (const n of [1, 2, 3])
        await workflow.log('shop', lease, { message: `line ${n}`, content: n === 1 ? '{"n":1}' : null }, T0 + n);
      assert.deepEqual(
        (await workflow.history(flow, 'r'))!.log.map((line) => ({ ...line })),
        [
          { at: T0 + 1, message: 'line 1', content: '{"n":1}' },
          { at: T0 + 2, message: 'line 2', content: null },
        ],
      );
    },
    { workflowStepsMax: 2, workflowEventsMax: 2, workflowLogLinesMax: 2 },
  );

  fact(
    'the results of a run are bounded together, those of events too: they come with each of its attempts',
    async ({ workflow }) => {
      await workflow.trigger(flow, owner, { id: 'large', input: '{}' }, T0);
      const lane = await workflow.lanes.open(flow.namespace, flow.resource);
      const [row] = await workflow.claims.claim([lane], 10, 'me.1', T0, T0 + 60_000);
      const { lease } = (await workflow.begin(row!, T0))!;
      const result = JSON.stringify('x'.repeat(60));
      for (const name of ['waits', 'too'])
        assert.equal(
          await workflow.waitForEvent(flow.namespace, lease, { name, type: name, timeoutAt: null }, T0),
          null,
        );
      assert.equal(await workflow.step(flow.namespace, lease, 'one', { kind: 'done', result }, T0), true);
      await workflow.sendEvent(flow, 'large', { type: 'waits', payload: '1' }, T0);
      await assert.rejects(workflow.sendEvent(flow, 'large', { type: 'too', payload: result }, T0), {
        code: 'invalid_argument',
        message: 'The results of the steps of a run may have 150 bytes as JSON together',
      });
      assert.equal(await workflow.step(flow.namespace, lease, 'two', { kind: 'done', result }, T0), true);
      await assert.rejects(workflow.step(flow.namespace, lease, 'three', { kind: 'done', result }, T0), {
        code: 'invalid_argument',
      });
    },
    { workflowHistoryBytesMax: 150 },
  );

  fact(
    'a run with as many steps as it may have takes updates of those it has, and of no further one',
    async ({ workflow }) => {
      await workflow.trigger(flow, owner, { id: 'long', input: '{}' }, T0);
      const lane = await workflow.lanes.open(flow.namespace, flow.resource);
      const [row] = await workflow.claims.claim([lane], 10, 'me.1', T0, T0 + 60_000);
      const { lease } = (await workflow.begin(row!, T0))!;
      const update = (name: string, step: StepUpdate): Promise<boolean> =>
        workflow.step(flow.namespace, lease, name, step, T0);
      const again = { kind: 'failed', error: '{}', attempts: 1, wakeAt: T0 + 5 } as const;
      assert.equal(await update('one', again), true);
      assert.equal(await update('two', { kind: 'done', result: '2' }), true);
      const full = { code: 'invalid_argument', message: 'A run can have at most 2 steps' };
      await assert.rejects(update('three', { kind: 'done', result: '3' }), full);
      await assert.rejects(
        workflow.waitForEvent(flow.namespace, lease, { name: 'four', type: 'x', timeoutAt: null }, T0),
        full,
      );
      assert.equal(await update('one', { ...again, attempts: 2 }), true);
      assert.equal(await update('one', { kind: 'done', result: '1' }), true);
      // What is done stays as it is.
      assert.equal(await update('one', { kind: 'done', result: '9' }), false);
    },
    { workflowStepsMax: 2 },
  );

  fact('a page of runs ends early where they are large', async ({ workflow }) => {
    const input = JSON.stringify('x'.repeat(900_000));
    for (let number = 0; number < 20; number++) await workflow.trigger(flow, owner, { id: `run${number}`, input }, T0);
    const found: number[] = [];
    let before: number | null = null;
    do {
      const page = await workflow.list(flow, { status: null, limit: 100, before });
      found.push(page.runs.length);
      before = page.next;
    } while (before !== null);
    assert.deepEqual(found, [10, 10]);
  });

  fact(
    'runs are listed newest first, a page at a time, by status, and dropped long after their end',
    async (stores) => {
      const { workflow } = stores;
      for (const id of ['a', 'b', 'c']) await workflow.trigger(flow, owner, { id, input: '{}' }, T0);
      await workflow.cancel(flow, 'b', T0);
      const { runs, next } = await workflow.list(flow, { status: null, limit: 2, before: null });
      assert.deepEqual(
        runs.map(({ id }) => id),
        ['c', 'b'],
      );
      const rest = await workflow.list(flow, { status: null, limit: 2, before: next });
      assert.deepEqual([rest.runs.map(({ id }) => id), rest.next], [['a'], null]);
      const cancelled = await workflow.list(flow, { status: 'cancelled', limit: 5, before: null });
      assert.deepEqual(
        cancelled.runs.map(({ id }) => id),
        ['b'],
      );
      await workflow.sweep(T0 + 30 * DAY);
      assert.equal(await workflow.get(flow, 'b'), null);
      assert.equal((await workflow.get(flow, 'a'))?.status, 'pending');
    },
  );
}
