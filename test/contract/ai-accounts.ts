// What every form of the AI gateway's accounts does: tokens, room, usage.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Accounts, Limit } from '#gateway/accounts/accounts.ts';
import type { Caller, Refusal, Reservation } from '#gateway/contract/contract.ts';

/** Opens accounts that are empty, on a clock of the test. */
type OpenAccounts = (deps: {
  readonly now: () => number;
  readonly limits: readonly Limit[];
}) => Promise<Accounts & { close(): Promise<void> }>;

const NOON = Date.UTC(2026, 0, 31, 12);
const MINUTE = 60_000;

const caller: Caller = {
  kind: 'worker',
  organizationId: 'acme',
  projectId: 'shop',
  deploymentId: 'd000000000001',
  branch: 'main',
  plan: 'free',
  runId: null,
};
const other: Caller = { ...caller, organizationId: 'other', projectId: 'blog', deploymentId: 'd000000000002' };
const tokens = (promptTokens: number, completionTokens = 0) => ({ promptTokens, completionTokens, costMicros: 0 });
const isRoom = (answer: Reservation | Refusal): answer is Reservation => !('code' in answer);

export function testAiAccounts(form: string, open: OpenAccounts): void {
  const withAccounts = (
    title: string,
    limits: readonly Limit[],
    run: (accounts: Accounts, clock: { at: number }) => Promise<void>,
  ) =>
    test(`${form}: ${title}`, async () => {
      const clock = { at: NOON };
      const accounts = await open({ now: () => clock.at, limits });
      try {
        await run(accounts, clock);
      } finally {
        await accounts.close();
      }
    });

  withAccounts('a token is its caller until it is revoked', [], async ({ tokens: kept }) => {
    const token = await kept.issue(caller, null);
    assert.match(token, /^pk_ai_d000000000001_[A-Za-z0-9_-]{43}$/);
    assert.deepEqual(await kept.authenticate(token), caller);
    for (const wrong of [`${token}x`, token.slice(0, -1), token.replace('d0', 'd1'), 'pk_ai_', '', 'x'.repeat(10_000)])
      assert.equal(await kept.authenticate(wrong), 'invalid', wrong.slice(0, 80));
    await kept.revoke(token);
    assert.equal(await kept.authenticate(token), 'invalid');
  });

  withAccounts('a rotation keeps the new token, a removed deployment has none', [], async ({ tokens: kept }) => {
    const [old, fresh, foreign] = [
      await kept.issue(caller, null),
      await kept.issue(caller, null),
      await kept.issue(other, null),
    ];
    await kept.revokeDeployment(caller.deploymentId!, fresh);
    assert.equal(await kept.authenticate(old), 'invalid');
    assert.deepEqual(await kept.authenticate(fresh), caller);
    await kept.revokeDeployment(caller.deploymentId!, null);
    assert.equal(await kept.authenticate(fresh), 'invalid');
    assert.deepEqual(await kept.authenticate(foreign), other);
  });

  withAccounts('a token that expires is told from one that is unknown', [], async ({ tokens: kept }, clock) => {
    const sandbox: Caller = { ...caller, kind: 'sandbox', deploymentId: null };
    const token = await kept.issue(sandbox, NOON + MINUTE);
    clock.at = NOON + MINUTE - 1;
    assert.deepEqual(await kept.authenticate(token), sandbox);
    clock.at = NOON + MINUTE;
    assert.equal(await kept.authenticate(token), 'expired');
  });

  const rpm: Limit = { scope: 'organization', of: 'requests', per: 'minute', most: 2 };
  withAccounts('requests are counted by minute, and each organization on its own', [rpm], async ({ ledger }, clock) => {
    for (let n = 0; n < 2; n += 1) assert.ok(isRoom(await ledger.reserve(caller, tokens(1))));
    const refused = await ledger.reserve(caller, tokens(1));
    assert.deepEqual(refused, {
      code: 'rate_limit_exceeded',
      message: 'requests per minute of the organization: 2 of 2 used',
      retryAfterMs: MINUTE,
      of: 'requests',
      left: { limit: 2, remaining: 0, resetMs: MINUTE },
    });
    assert.ok(isRoom(await ledger.reserve(other, tokens(1))));
    clock.at += MINUTE;
    assert.ok(isRoom(await ledger.reserve(caller, tokens(1))));
  });

  const daily: Limit = { scope: 'project', of: 'tokens', per: 'day', most: 100 };
  withAccounts('calls at the same moment share what is left', [daily], async ({ ledger }) => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => ledger.reserve(caller, tokens(10, 20))));
    const rooms = answers.filter(isRoom);
    assert.equal(rooms.length, 3);
    assert.ok(rooms.every(({ isBounded }) => isBounded));
    // Which of them was the last is told by nobody.
    const [last] = rooms.map((room) => room.tokens!).toSorted((a, b) => a.remaining - b.remaining);
    assert.deepEqual(last, { limit: 100, remaining: 10, resetMs: 12 * 60 * MINUTE });
    assert.equal((answers.find((one) => !isRoom(one)) as Refusal).code, 'rate_limit_exceeded');
    for (const room of rooms) room.settle(tokens(5, 5));
    assert.ok(isRoom(await ledger.reserve(caller, tokens(70))));
  });

  withAccounts(
    'one call passes a limit, the next is refused until the window ends',
    [daily],
    async ({ ledger }, clock) => {
      const room = await ledger.reserve(caller, tokens(4000));
      assert.ok(isRoom(room));
      assert.ok(!isRoom(await ledger.reserve(caller, tokens(1))));
      room.settle(tokens(4000));
      const refused = await ledger.reserve(caller, tokens(1));
      assert.deepEqual(refused, {
        code: 'insufficient_quota',
        message: 'tokens per day of the project: 4000 of 100 used',
        retryAfterMs: null,
        of: 'tokens',
        left: { limit: 100, remaining: 0, resetMs: 12 * 60 * MINUTE },
      });
      clock.at += 12 * 60 * MINUTE;
      assert.ok(isRoom(await ledger.reserve(caller, tokens(1))));
    },
  );

  const budget: Limit = { scope: 'project', of: 'cost', per: 'month', most: 2_000_000 };
  withAccounts(
    'a budget is held and spent in millionths, and calls that cost nothing pass it',
    [budget],
    async ({ ledger }) => {
      const spend = (costMicros: number) => ({ promptTokens: 1000, completionTokens: 1000, costMicros });
      const room = await ledger.reserve(caller, spend(1_500_000));
      assert.ok(isRoom(room));
      assert.deepEqual([room.isBounded, room.requests, room.tokens], [true, null, null]);
      assert.equal(((await ledger.reserve(caller, spend(500_001))) as Refusal).code, 'rate_limit_exceeded');
      assert.ok(isRoom(await ledger.reserve({ ...caller, projectId: 'other' }, spend(1_500_000))));
      room.settle(spend(2_500_000));
      assert.deepEqual(await ledger.reserve(caller, spend(1)), {
        code: 'insufficient_quota',
        message: 'cost per month of the project: 2.5 of 2 used',
        retryAfterMs: null,
        of: 'cost',
        left: { limit: 2_000_000, remaining: 0, resetMs: 12 * 60 * MINUTE },
      });
      const free = await ledger.reserve(caller, spend(0));
      assert.ok(isRoom(free));
      assert.equal(free.isBounded, false);
    },
  );

  withAccounts('what was reserved and not sent is given back, once', [daily], async ({ ledger }) => {
    const room = await ledger.reserve(caller, tokens(90));
    assert.ok(isRoom(room));
    room.settle(null);
    room.settle(tokens(90));
    assert.ok(isRoom(await ledger.reserve(caller, tokens(100))));
  });

  const both: readonly Limit[] = [
    { scope: 'organization', of: 'tokens', per: 'month', most: 1000 },
    { scope: 'deployment', of: 'requests', per: 'minute', most: 1 },
  ];
  withAccounts('a call that one limit refuses takes from none', both, async ({ ledger }) => {
    const first = await ledger.reserve(caller, tokens(10));
    assert.ok(isRoom(first));
    assert.ok(!isRoom(await ledger.reserve(caller, tokens(10))));
    const neighbour = await ledger.reserve({ ...caller, deploymentId: 'd000000000003' }, tokens(10));
    assert.ok(isRoom(neighbour));
    assert.equal(neighbour.tokens!.remaining, 980);
  });

  withAccounts('usage is read back, the latest first, of one organization', [], async ({ usage }) => {
    const row = {
      id: 'req_1',
      at: NOON,
      caller,
      modelRequested: 'auto',
      model: 'mock/echo',
      promptTokens: 1,
      completionTokens: 2,
      cachedTokens: 0,
      reasoningTokens: 0,
      isEstimated: false,
      costMicros: null,
      status: 200,
      isStream: true,
      firstByteMs: 3,
      totalMs: 4,
    };
    usage.record(row);
    usage.record({ ...row, id: 'req_2', caller: other });
    usage.record({ ...row, id: 'req_3', at: NOON + 1, costMicros: 5 });
    await usage.flush();
    assert.deepEqual(await usage.rowsOf('acme', 10), [{ ...row, id: 'req_3', at: NOON + 1, costMicros: 5 }, row]);
    assert.equal((await usage.rowsOf('acme', 1)).length, 1);
  });

  withAccounts('usage is summed by model, deployment and day, of who asks alone', [], async ({ usage }) => {
    const DAY = 86_400_000;
    const row = {
      at: NOON,
      caller,
      modelRequested: 'auto',
      model: 'mock/echo',
      promptTokens: 1,
      completionTokens: 2,
      cachedTokens: 1,
      reasoningTokens: 2,
      isEstimated: false,
      costMicros: 5,
      status: 200,
      isStream: true,
      firstByteMs: 3,
      totalMs: 4,
    };
    const key: Caller = { ...caller, kind: 'key', projectId: null, deploymentId: null, branch: null };
    usage.record({ ...row, id: 'req_1' });
    usage.record({ ...row, id: 'req_2', at: NOON + DAY, model: 'mock/tools', promptTokens: 100, costMicros: null });
    usage.record({ ...row, id: 'req_3', caller: key, model: null, status: 502, promptTokens: 0, completionTokens: 0 });
    usage.record({ ...row, id: 'req_4', caller: other });
    usage.record({ ...row, id: 'req_5', at: NOON - DAY });
    const question = {
      organizationId: 'acme',
      projectId: null,
      deploymentId: null,
      from: NOON,
      to: NOON + DAY + 1,
      groupsMax: 10,
    };
    const total = {
      calls: 3,
      failedCalls: 1,
      promptTokens: 101,
      completionTokens: 4,
      cachedTokens: 3,
      reasoningTokens: 6,
      costMicros: 10,
      unpricedCalls: 1,
    };
    const byModel = await usage.sum({ ...question, by: 'model' });
    assert.deepEqual(byModel.total, total);
    const shown = ({ groups }: typeof byModel) =>
      groups.map(({ key: name, calls, promptTokens }) => [name, calls, promptTokens]);
    assert.deepEqual(shown(byModel), [
      ['mock/tools', 1, 100],
      ['mock/echo', 1, 1],
      [null, 1, 0],
    ]);
    assert.deepEqual(shown(await usage.sum({ ...question, by: 'deployment' })), [
      ['d000000000001', 2, 101],
      [null, 1, 0],
    ]);
    const first = await usage.sum({ ...question, by: 'day', groupsMax: 1 });
    assert.deepEqual([shown(first), first.hasMore, first.total], [[['2026-01-31', 2, 1]], true, total]);
    const own = await usage.sum({ ...question, projectId: 'shop', deploymentId: 'd000000000001', by: 'day' });
    assert.deepEqual([own.total.calls, own.hasMore], [2, false]);
    const none = await usage.sum({ ...question, projectId: 'blog', by: 'day' });
    assert.deepEqual([none.total.calls, none.total.promptTokens, none.groups], [0, 0, []]);
    // `to` itself does not count.
    assert.equal((await usage.sum({ ...question, to: NOON + DAY, by: 'day' })).total.calls, 2);
  });
}
