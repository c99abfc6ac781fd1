// The accounts of the AI gateway in Postgres: the suite, and what several gateways at once and a dead one do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPostgresLedger } from '#gateway/accounts/postgres/ledger.ts';
import type { Reservation } from '#gateway/contract/contract.ts';
import { type Postgres } from '#postgres/connection.ts';
import { postgresError } from '#postgres/postgres-error.ts';
import { openDatabase, caller, AT, tokens, daily, rpm, withDatabase } from '#test/setup/ai-accounts.ts';
import { testAiAccounts } from './ai-accounts.ts';
import { raceForBudget } from './ai-budget-race.ts';

testAiAccounts('postgres', async ({ now, limits }) => {
  const database = await openDatabase();
  return { ...(await database.accounts(limits, now)), close: () => database.close() };
});

test('two gateways give 50 calls at the same moment no more than a limit has', () =>
  withDatabase(async ({ sql, accounts }) => {
    const gateways = [await accounts([daily, rpm]), await accounts([rpm, daily])];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => gateways[n % 2]!.ledger.reserve(caller, tokens(10, 40))),
    );
    const rooms = answers.filter((answer): answer is Reservation => !('code' in answer));
    assert.equal(rooms.length, 20);
    for (const room of rooms) room.settle(tokens(10, 5));
    await Promise.all(gateways.map((gateway) => gateway.close()));
    const counted = await sql.all('SELECT key, used FROM control.ai_counter ORDER BY key');
    assert.deepEqual(counted, [
      { key: 'deployment d000000000001 requests minute', used: 20 },
      { key: 'organization acme tokens day', used: 300 },
    ]);
    assert.deepEqual(await sql.all('SELECT * FROM control.ai_held'), []);
  }));

test('postgres: 50 streamed calls at once, many given up, pass a quota by at most one, and are billed to the token', () =>
  withDatabase(({ accounts }) => raceForBudget((limits) => accounts(limits))));

test('what one gateway has used and reserved the other sees', () =>
  withDatabase(async ({ accounts }) => {
    const [one, other] = [await accounts([daily]), await accounts([daily])];
    const first = await one.ledger.reserve(caller, tokens(600));
    assert.ok(!('code' in first));
    const refused = await other.ledger.reserve(caller, tokens(600));
    assert.ok('code' in refused);
    const { left, ...told } = refused;
    assert.deepEqual(told, {
      code: 'rate_limit_exceeded',
      message: 'tokens per day of the organization: 0 of 1000 used, the rest is reserved for running calls',
      retryAfterMs: 1000,
      of: 'tokens',
    });
    assert.deepEqual([left.limit, left.remaining], [1000, 400]);
    first.settle(tokens(1000));
    await one.close();
    const over = await other.ledger.reserve(caller, tokens(1));
    assert.ok('code' in over);
    assert.equal(over.message, 'tokens per day of the organization: 1000 of 1000 used');
  }));

test('what a gateway held is free when it gives no sign of life any more', () =>
  withDatabase(async ({ sql, accounts }) => {
    const [dead, other] = [await accounts([daily]), await accounts([daily])];
    assert.ok(!('code' in (await dead.ledger.reserve(caller, tokens(900)))));
    assert.ok('code' in (await other.ledger.reserve(caller, tokens(200))));
    // As time does it.
    await sql.all(
      `UPDATE control.ai_holder SET lease_until = now() - interval '1 s'
       WHERE id IN (SELECT holder FROM control.ai_held WHERE amount = 900)`,
    );
    assert.ok(!('code' in (await other.ledger.reserve(caller, tokens(200)))));
  }));

test('what a gateway holds after a connection broke is free when its last call has ended', () =>
  withDatabase(async ({ sql }) => {
    let breaks = false;
    const broken: Postgres = {
      ...sql,
      async all(text, ...parameters) {
        const rows = await sql.all(text, ...parameters);
        // Done, and nobody heard of it.
        if (breaks && text.includes('ai_reserve')) throw postgresError('CONNECTION_CLOSED', 'It is closed');
        return rows as never;
      },
    };
    const ledger = await createPostgresLedger({
      sql: broken,
      now: () => AT,
      limitsOf: () => Promise.resolve([daily]),
      log: () => {},
    });
    const first = await ledger.reserve(caller, tokens(100));
    assert.ok(!('code' in first));
    breaks = true;
    await assert.rejects(ledger.reserve(caller, tokens(800)), { code: 'CONNECTION_CLOSED' });
    breaks = false;
    assert.ok('code' in (await ledger.reserve(caller, tokens(200))));
    first.settle(tokens(50));
    assert.ok(!('code' in (await ledger.reserve(caller, tokens(900)))));
    await ledger.close();
  }));

test('a row that a client or a provider has spoilt is kept, and so are those beside it', () =>
  withDatabase(async ({ accounts }) => {
    const { usage } = await accounts([]);
    const row = {
      at: Date.now(),
      caller,
      model: 'mock/echo',
      completionTokens: 2,
      cachedTokens: 0,
      reasoningTokens: 0,
      isEstimated: false,
      costMicros: null,
      status: 200,
      isStream: false,
      firstByteMs: null,
      totalMs: 4,
    };
    usage.record({ ...row, id: 'req_1', modelRequested: 'a\0b\ud800c', promptTokens: 1e300 });
    usage.record({ ...row, id: 'req_2', modelRequested: 'x'.repeat(9999), promptTokens: Number.NaN });
    await usage.flush();
    const rows = await usage.rowsOf('acme', 10);
    assert.deepEqual(
      rows.map(({ id, modelRequested, promptTokens }) => [id, modelRequested, promptTokens]),
      [
        ['req_2', 'x'.repeat(500), 0],
        ['req_1', 'ab\ufffdc', Number.MAX_SAFE_INTEGER],
      ],
    );
  }));
