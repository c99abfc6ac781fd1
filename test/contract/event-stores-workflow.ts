// The cases of the event stores' contract about runs of workflows. Run by event-stores.ts.
import assert from 'node:assert/strict';
import type { StepUpdate } from '#runtime/engine/bindings/workflow.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import { day, owner, t0, type Fact } from './event-stores-case.ts';

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
    await Promise.all([1, 2, 3].map((n) => workflow.trigger(flow, owner, { id: 'order-7', input: `${n}` }, t0)));
    const found = await workflow.get(flow, 'order-7');
    assert.deepEqual(
      [found!.status, found!.deployment, found!.createdAt, found!.startedAt],
      ['pending', 'd000000000001', t0, null],
    );
    assert.equal((await claimRun(stores, t0)).length, 1);
    assert.equal(await workflow.get({ ...flow, namespace: 'other' }, 'order-7'), null);
  });

  fact('steps are written down, given back, and done once', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    const [row] = await claimRun(stores, t0);
    const begun = await workflow.begin(row!, t0);
    assert.deepEqual(begun?.steps, []);
    const { lease } = begun!;
    assert.equal(
      await workflow.step('shop', lease, '__proto__', { kind: 'done', result: '{"ok":true}' }, t0 + 1),
      true,
    );
    const failure = {
      kind: 'failed',
      error: '{"name":"Error","message":"no"}',
      attempts: 1,
      wakeAt: t0 + 5000,
    } as const;
    assert.equal(await workflow.step('shop', lease, 'flaky', failure, t0 + 2), true);
    assert.equal(await workflow.step('shop', lease, 'nap', { kind: 'sleep', wakeAt: t0 + 3000 }, t0 + 2), true);
    assert.equal(await workflow.hasProgressed(row!, t0 + 1), true);
    await workflow.settle(row!, { status: 'suspended' }, t0 + 3);
    assert.deepEqual(await claimRun(stores, t0 + 2999), []);
    const [again] = await claimRun(stores, t0 + 3000);
    assert.equal(again!.attempt, 1);
    const later = await workflow.begin(again!, t0 + 3000);
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
        ['flaky', 'run', 'waiting', 1, null, t0 + 5000],
        ['nap', 'sleep', 'done', 0, null, t0 + 3000],
      ],
    );
    await workflow.step('shop', later!.lease, 'flaky', { kind: 'done', result: '1' }, t0 + 3001);
    await workflow.settle(again!, { status: 'completed', output: '"fin"' }, t0 + 3002);
    const ended = await workflow.get(flow, 'r');
    assert.deepEqual(
      [ended!.status, ended!.output, ended!.startedAt, ended!.completedAt],
      ['completed', '"fin"', t0, t0 + 3002],
    );
    const history = await workflow.history(flow, 'r');
    assert.deepEqual(
      history!.steps.map(({ name, status, attempts }) => [name, status, attempts]),
      [
        ['__proto__', 'done', 0],
        ['flaky', 'done', 1],
        ['nap', 'done', 0],
      ],
    );
  });

  fact(
    'an attempt whose lease is lost changes nothing any more, and no namespace writes into another',
    async (stores) => {
      const { workflow } = stores;
      await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
      const [old] = await claimRun(stores, t0, 'old');
      const { lease: oldLease } = (await workflow.begin(old!, t0))!;
      const [row] = await claimRun(stores, t0 + 60_000, 'new');
      assert.equal(await workflow.begin(old!, t0 + 60_000), null);
      const { lease } = (await workflow.begin(row!, t0 + 60_000))!;
      assert.equal(await workflow.step('shop', oldLease, 'late', { kind: 'done', result: '1' }, t0 + 60_001), false);
      assert.equal(await workflow.waitForEvent('shop', oldLease, { name: 'e', type: 'x', timeoutAt: null }, t0), false);
      assert.equal(await workflow.step('thief', lease, 'mine', { kind: 'done', result: '1' }, t0 + 60_001), false);
      await workflow.log('thief', lease, { message: 'hello', content: null }, t0);
      await workflow.settle(old!, { status: 'completed', output: '1' }, t0 + 60_002);
      assert.equal((await workflow.get(flow, 'r'))!.status, 'running');
      assert.deepEqual(await workflow.history(flow, 'r'), { steps: [], log: [] });
    },
  );

  fact(
    'step updates of many runs at once are stored for each, and one that lost its lease learns of it',
    async (stores) => {
      const { workflow } = stores;
      const ids = Array.from({ length: 12 }, (_, n) => `r${n}`);
      await Promise.all(ids.map((id) => workflow.trigger(flow, owner, { id, input: '{}' }, t0)));
      const rows = [...(await claimRun(stores, t0, 'a')), ...(await claimRun(stores, t0, 'b'))];
      const leases = await Promise.all(rows.map(async (row) => (await workflow.begin(row, t0))!.lease));
      const update = (lease: string, name: string, result: string): Promise<boolean> =>
        workflow.step('shop', lease, name, { kind: 'done', result }, t0 + 1);
      const [first, ...others] = leases;
      await workflow.settle(rows[0]!, { status: 'suspended' }, t0 + 1);
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
      await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
      await workflow.sendEvent(flow, 'r', { type: 'paid', payload: '1' }, t0);
      await workflow.sendEvent(flow, 'r', { type: 'paid', payload: '2' }, t0 + 1);
      const [row] = await claimRun(stores, t0 + 1);
      const { lease } = (await workflow.begin(row!, t0 + 1))!;
      const wait = (
        name: string,
        type: string,
        timeoutAt: number | null = null,
      ): ReturnType<typeof workflow.waitForEvent> =>
        workflow.waitForEvent('shop', lease, { name, type, timeoutAt }, t0 + 2);
      assert.equal(await wait('first', 'paid'), `{"type":"paid","payload":1,"timestamp":${t0}}`);
      assert.equal(await wait('second', 'paid'), `{"type":"paid","payload":2,"timestamp":${t0 + 1}}`);
      assert.equal(await wait('third', 'shipped'), null);
      await workflow.settle(row!, { status: 'suspended' }, t0 + 3);
      assert.deepEqual(await claimRun(stores, t0 + day), []);
      await workflow.sendEvent(flow, 'r', { type: 'shipped', payload: '"x"' }, t0 + day);
      const [again] = await claimRun(stores, t0 + day);
      const { steps } = (await workflow.begin(again!, t0 + day))!;
      assert.equal(steps[2]!.result, `{"type":"shipped","payload":"x","timestamp":${t0 + day}}`);
    },
  );

  fact('an event that comes while the attempt still runs is not lost when it suspends', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    const [row] = await claimRun(stores, t0);
    const { lease } = (await workflow.begin(row!, t0))!;
    assert.equal(await workflow.waitForEvent('shop', lease, { name: 'e', type: 'go', timeoutAt: t0 + day }, t0), null);
    await workflow.sendEvent(flow, 'r', { type: 'go', payload: 'null' }, t0 + 1);
    await workflow.settle(row!, { status: 'suspended' }, t0 + 2);
    const [again] = await claimRun(stores, t0 + 2);
    assert.equal((await workflow.begin(again!, t0 + 2))!.steps[0]!.status, 'done');
  });

  fact('a wait that nothing ends in time fails', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    const [row] = await claimRun(stores, t0);
    const { lease } = (await workflow.begin(row!, t0))!;
    await workflow.waitForEvent('shop', lease, { name: 'e', type: 'go', timeoutAt: t0 + 1000 }, t0);
    await workflow.settle(row!, { status: 'suspended' }, t0 + 1);
    const [again] = await claimRun(stores, t0 + 1000);
    const { steps } = (await workflow.begin(again!, t0 + 1000))!;
    assert.deepEqual([steps[0]!.status, JSON.parse(steps[0]!.error!)['name']], ['failed', 'TimeoutError']);
  });

  fact('a run that is cancelled ends at once, and its updates afterwards do not count', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    const [row] = await claimRun(stores, t0);
    const { lease } = (await workflow.begin(row!, t0))!;
    await workflow.cancel(flow, 'r', t0 + 1);
    await workflow.cancel(flow, 'r', t0 + 2);
    assert.equal(await workflow.step('shop', lease, 's', { kind: 'done', result: '1' }, t0 + 2), false);
    await workflow.settle(row!, { status: 'completed', output: '1' }, t0 + 3);
    const found = await workflow.get(flow, 'r');
    assert.deepEqual([found!.status, found!.completedAt], ['cancelled', t0 + 1]);
    await assert.rejects(workflow.cancel(flow, 'none', t0), { code: 'execution_not_found' });
    await assert.rejects(workflow.sendEvent(flow, 'r', { type: 'x', payload: '1' }, t0), { code: 'execution_state' });
  });

  fact('a run that is paused keeps what its step returned, and goes on when it is resumed', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    const [row] = await claimRun(stores, t0);
    const { lease } = (await workflow.begin(row!, t0))!;
    await workflow.pause(flow, 'r');
    assert.equal((await workflow.get(flow, 'r'))!.status, 'paused');
    assert.equal(await workflow.step('shop', lease, 's', { kind: 'done', result: '1' }, t0 + 1), false);
    await workflow.settle(row!, { status: 'suspended' }, t0 + 2);
    assert.deepEqual(await claimRun(stores, t0 + day), []);
    await workflow.resume(flow, 'r', t0 + day);
    const [again] = await claimRun(stores, t0 + day);
    assert.equal((await workflow.begin(again!, t0 + day))!.steps[0]!.status, 'done');
  });

  fact('a run restarts from the beginning, or from a step, on the deployment that is named', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    const [row] = await claimRun(stores, t0);
    const { lease } = (await workflow.begin(row!, t0))!;
    for (const name of ['a', 'b', 'c']) await workflow.step('shop', lease, name, { kind: 'done', result: '1' }, t0);
    await workflow.settle(row!, { status: 'failed', error: '{"name":"Error","message":"x"}' }, t0 + 1);
    await assert.rejects(workflow.restart(flow, 'r', { fromStep: 'z', deployment: null }, t0), /has no step z/);
    await workflow.restart(flow, 'r', { fromStep: 'b', deployment: 'd000000000002' }, t0 + 2);
    const found = await workflow.get(flow, 'r');
    assert.deepEqual([found!.status, found!.error, found!.deployment], ['pending', null, 'd000000000002']);
    const [again] = await claimRun(stores, t0 + 2);
    assert.deepEqual(
      (await workflow.begin(again!, t0 + 2))!.steps.map(({ name }) => name),
      ['a'],
    );
    await workflow.restart(flow, 'r', { fromStep: null, deployment: null }, t0 + 3);
    const [third] = await claimRun(stores, t0 + 3);
    assert.deepEqual((await workflow.begin(third!, t0 + 3))!.steps, []);
  });

  fact(
    'steps, waiting events and log lines of a run have their bounds',
    async (stores) => {
      const { workflow } = stores;
      await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
      const [row] = await claimRun(stores, t0);
      const { lease } = (await workflow.begin(row!, t0))!;
      for (const name of ['a', 'b']) await workflow.step('shop', lease, name, { kind: 'done', result: '1' }, t0);
      await assert.rejects(workflow.step('shop', lease, 'c', { kind: 'sleep', wakeAt: t0 }, t0), /at most 2 steps/);
      await assert.rejects(
        workflow.waitForEvent('shop', lease, { name: 'd', type: 'x', timeoutAt: null }, t0),
        /at most 2 steps/,
      );
      for (const n of [1, 2]) await workflow.sendEvent(flow, 'r', { type: 'x', payload: `${n}` }, t0);
      await assert.rejects(
        workflow.sendEvent(flow, 'r', { type: 'x', payload: '3' }, t0),
        /has 2 events that nothing waits for/,
      );
      for (const n of [1, 2, 3])
        await workflow.log('shop', lease, { message: `line ${n}`, content: n === 1 ? '{"n":1}' : null }, t0 + n);
      assert.deepEqual(
        (await workflow.history(flow, 'r'))!.log.map((line) => ({ ...line })),
        [
          { at: t0 + 1, message: 'line 1', content: '{"n":1}' },
          { at: t0 + 2, message: 'line 2', content: null },
        ],
      );
    },
    { workflowStepsMax: 2, workflowEventsMax: 2, workflowLogLinesMax: 2 },
  );

  fact(
    'the results of a run are bounded together, those of events too: they come with each of its attempts',
    async ({ workflow }) => {
      await workflow.trigger(flow, owner, { id: 'large', input: '{}' }, t0);
      const lane = await workflow.lanes.open(flow.namespace, flow.resource);
      const [row] = await workflow.claims.claim([lane], 10, 'me.1', t0, t0 + 60_000);
      const { lease } = (await workflow.begin(row!, t0))!;
      const result = JSON.stringify('x'.repeat(60));
      for (const name of ['waits', 'too'])
        assert.equal(
          await workflow.waitForEvent(flow.namespace, lease, { name, type: name, timeoutAt: null }, t0),
          null,
        );
      assert.equal(await workflow.step(flow.namespace, lease, 'one', { kind: 'done', result }, t0), true);
      await workflow.sendEvent(flow, 'large', { type: 'waits', payload: '1' }, t0);
      await assert.rejects(workflow.sendEvent(flow, 'large', { type: 'too', payload: result }, t0), {
        code: 'invalid_argument',
        message: 'The results of the steps of a run may have 150 bytes as JSON together',
      });
      assert.equal(await workflow.step(flow.namespace, lease, 'two', { kind: 'done', result }, t0), true);
      await assert.rejects(workflow.step(flow.namespace, lease, 'three', { kind: 'done', result }, t0), {
        code: 'invalid_argument',
      });
    },
    { workflowHistoryBytesMax: 150 },
  );

  fact(
    'a run with as many steps as it may have takes updates of those it has, and of no further one',
    async ({ workflow }) => {
      await workflow.trigger(flow, owner, { id: 'long', input: '{}' }, t0);
      const lane = await workflow.lanes.open(flow.namespace, flow.resource);
      const [row] = await workflow.claims.claim([lane], 10, 'me.1', t0, t0 + 60_000);
      const { lease } = (await workflow.begin(row!, t0))!;
      const update = (name: string, step: StepUpdate): Promise<boolean> =>
        workflow.step(flow.namespace, lease, name, step, t0);
      const again = { kind: 'failed', error: '{}', attempts: 1, wakeAt: t0 + 5 } as const;
      assert.equal(await update('one', again), true);
      assert.equal(await update('two', { kind: 'done', result: '2' }), true);
      const full = { code: 'invalid_argument', message: 'A run has at most 2 steps' };
      await assert.rejects(update('three', { kind: 'done', result: '3' }), full);
      await assert.rejects(
        workflow.waitForEvent(flow.namespace, lease, { name: 'four', type: 'x', timeoutAt: null }, t0),
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
    for (let number = 0; number < 20; number++) await workflow.trigger(flow, owner, { id: `run${number}`, input }, t0);
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
      for (const id of ['a', 'b', 'c']) await workflow.trigger(flow, owner, { id, input: '{}' }, t0);
      await workflow.cancel(flow, 'b', t0);
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
      await workflow.sweep(t0 + 30 * day);
      assert.equal(await workflow.get(flow, 'b'), null);
      assert.equal((await workflow.get(flow, 'a'))?.status, 'pending');
    },
  );
}
