// The accounts of the AI gateway in Postgres: the suite, and what several gateways at once and a dead one do.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { openPostgresAccounts, type PostgresAccounts } from '#control/gateway/accounts/postgres/accounts.ts';
import type { Limit } from '#control/gateway/accounts/accounts.ts';
import { encryptionKeys, seal } from '#core/encryption.ts';
import { createPostgresLedger } from '#control/gateway/accounts/postgres/ledger.ts';
import { createRemembered } from '#control/gateway/accounts/postgres/remembered.ts';
import {
  issueSandboxToken,
  revokeSandboxToken,
  rotateSandboxToken,
} from '#control/gateway/accounts/postgres/sandbox-tokens.ts';
import { providerContext } from '#control/gateway/accounts/postgres/settings.ts';
import type { Caller, Reservation } from '#control/gateway/contract.ts';
import { sweep } from '#control/gateway/accounts/postgres/sweep.ts';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { PostgresError } from '#postgres/postgres-error.ts';
import { startGateway } from '#test/setup/gateway.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { until } from '#test/setup/until.ts';
import { testAiAccounts } from './ai-accounts.ts';
import { raceForBudget } from './ai-budget-race.ts';

const KEYS = encryptionKeys('0123456789abcdef0123456789abcdef');

interface Database {
  readonly url: string;
  readonly sql: Postgres;
  accounts(limits: readonly Limit[], now?: () => number): Promise<PostgresAccounts>;
  close(): Promise<void>;
}

/** A database with the organizations, projects and deployments of the suite. */
async function open(): Promise<Database> {
  const database = await createTestDatabase();
  const sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 2 });
  await sql.session((session) =>
    session.script(`
      INSERT INTO control.organization (id, slug, name) VALUES ('acme', 'acme', 'Acme'), ('other', 'other', 'Other');
      INSERT INTO control.project (id, organization_id, name) VALUES ('shop', 'acme', 'shop'), ('blog', 'other', 'blog');
      INSERT INTO control.deployment (id, project_id, organization_id, target, branch, source) VALUES
        ('d000000000001', 'shop', 'acme', 'production', 'main', 'upload'),
        ('d000000000002', 'blog', 'other', 'production', 'main', 'upload')`),
  );
  const opened: PostgresAccounts[] = [];
  return {
    url: database.url,
    sql,
    async accounts(limits, now = Date.now) {
      const accounts = await openAccounts(database.url, limits, now);
      opened.push(accounts);
      return accounts;
    },
    async close() {
      for (const accounts of opened) await accounts.close();
      await sql.close();
      await database.close();
    },
  };
}

function openAccounts(url: string, limits: readonly Limit[], now = Date.now): Promise<PostgresAccounts> {
  return openPostgresAccounts({
    connection: { url, name: 'test gateway', connectionsMax: 8 },
    now,
    limitsOf: () => limits,
    table: { providers: [], aliases: {}, auto: [] },
    keys: KEYS,
    usageDays: 1,
    log: () => {},
  });
}

testAiAccounts('postgres', async ({ now, limits }) => {
  const database = await open();
  return { ...(await database.accounts(limits, now)), close: () => database.close() };
});

const caller: Caller = {
  kind: 'worker',
  organizationId: 'acme',
  projectId: 'shop',
  deploymentId: 'd000000000001',
  branch: 'main',
  plan: 'free',
  runId: null,
};
const AT = Date.UTC(2026, 0, 1);
const tokens = (promptTokens: number, completionTokens = 0) => ({ promptTokens, completionTokens });
const daily: Limit = { scope: 'organization', of: 'tokens', per: 'day', most: 1000 };
const rpm: Limit = { scope: 'deployment', of: 'requests', per: 'minute', most: 1_000_000 };

async function withDatabase(run: (database: Database) => Promise<void>): Promise<void> {
  const database = await open();
  try {
    await run(database);
  } finally {
    await database.close();
  }
}

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
      message: 'tokens per day of the organization: 0 of 1000 used, the rest is reserved for calls under way',
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
        if (breaks && text.includes('ai_reserve')) throw new PostgresError('CONNECTION_CLOSED', 'It is closed');
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

test('a gateway forgets a token at once when another revokes it, and when its deployment or project goes', () =>
  withDatabase(async ({ sql, accounts }) => {
    // On a clock that stands: nothing is forgotten because its time is over.
    const [one, other] = [await accounts([], () => AT), await accounts([], () => AT)];
    const issue = () => one.tokens.issue(caller, null);
    const until = async (token: string) => {
      while ((await other.tokens.authenticate(token)) !== 'invalid') await heard(sql);
    };
    const revoked = await issue();
    const [removed, kept] = [await issue(), await one.tokens.issue({ ...caller, deploymentId: null }, null)];
    for (const token of [revoked, removed, kept]) assert.notEqual(await other.tokens.authenticate(token), 'invalid');
    await one.tokens.revoke(revoked);
    await until(revoked);
    assert.deepEqual(await other.tokens.authenticate(removed), caller);
    await sql.all(`UPDATE control.deployment SET removed_at = now() WHERE id = 'd000000000001'`);
    await until(removed);
    assert.notEqual(await other.tokens.authenticate(kept), 'invalid');
    await sql.all(`UPDATE control.project SET deleted_at = now() WHERE id = 'shop'`);
    await until(kept);
    assert.deepEqual(await sql.all('SELECT * FROM control.ai_token'), []);
  }));

test('a token of a sandbox lives for an hour; another one takes its place, and it ends a minute later', () =>
  withDatabase(async ({ sql, accounts }) => {
    let at = AT;
    const { tokens: kept } = await accounts([], () => at);
    const owner = { organizationId: 'acme', projectId: 'shop', branch: 'main', runId: 'run_1' };
    const first = await issueSandboxToken(sql, owner, at);
    const expected = { ...owner, kind: 'sandbox', deploymentId: null, plan: 'free' };
    assert.deepEqual(await kept.authenticate(first.token), expected);
    at += 3_000_000;
    const second = (await rotateSandboxToken(sql, first.token, at))!;
    assert.deepEqual([first.expiresAt, second.expiresAt], [AT + 3_600_000, at + 3_600_000]);
    assert.deepEqual(await kept.authenticate(second.token), expected);
    at += 60_000;
    while ((await kept.authenticate(first.token)) !== 'expired') await heard(sql);
    assert.equal(await rotateSandboxToken(sql, first.token, at), null);
    at += 3_540_000;
    assert.equal(await kept.authenticate(second.token), 'expired');
    const third = await issueSandboxToken(sql, owner, at);
    assert.deepEqual(await kept.authenticate(third.token), expected);
    await revokeSandboxToken(sql, third.token);
    while ((await kept.authenticate(third.token)) !== 'invalid') await heard(sql);
    assert.equal(await rotateSandboxToken(sql, third.token, at), null);
  }));

test('a token has the plan that its organization has now', () =>
  withDatabase(async ({ sql, accounts }) => {
    const { tokens: kept } = await accounts([], () => AT);
    const token = await kept.issue(caller, null);
    assert.deepEqual(await kept.authenticate(token), caller);
    await sql.all(`UPDATE control.organization SET plan = 'pro' WHERE id = 'acme'`);
    for (;;) {
      const found = await kept.authenticate(token);
      assert.ok(typeof found !== 'string');
      if (found.plan === 'pro') break;
      await heard(sql);
    }
  }));

test('tokens are kept as hashes alone', () =>
  withDatabase(async ({ sql, accounts }) => {
    const token = await (await accounts([])).tokens.issue(caller, null);
    const [row] = await sql.all<{ text: string }>('SELECT t::text AS text FROM control.ai_token t');
    assert.ok(!row!.text.includes(token.slice(-43)));
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

test('an organization has its own providers, names and limits beside those of the operator, from when they are set', () =>
  withDatabase(async ({ sql, accounts }) => {
    const { models, ledger } = await accounts([], () => AT);
    assert.deepEqual(await models('acme'), { providers: [], aliases: {}, auto: [] });
    const key = seal(KEYS, 'sk-own', providerContext('aip_own'));
    await sql.all(
      `INSERT INTO control.ai_provider (id, organization_id, name, kind, url, key, models)
       VALUES ('aip_own', 'acme', 'own', 'openai', 'https://models.example/v1', $1, '{small}')`,
      key,
    );
    await sql.all(
      `INSERT INTO control.ai_settings (organization_id, project_id, aliases, auto, limits) VALUES
         ('acme', NULL, '{"fast": "own/small"}', '{own/small}', '[{"of": "requests", "per": "day", "most": 2}]'),
         ('acme', 'shop', '{}', '{}', '[{"of": "requests", "per": "day", "most": 1}]')`,
    );
    while ((await models('acme')).providers.length === 0) await heard(sql);
    assert.deepEqual(await models('acme'), {
      providers: [
        {
          name: 'own',
          kind: 'openai',
          url: 'https://models.example/v1',
          key: 'sk-own',
          isPrivate: false,
          models: ['small'],
        },
      ],
      aliases: { fast: 'own/small' },
      auto: ['own/small'],
    });
    assert.deepEqual((await models('other')).providers, []);
    assert.ok(!('code' in (await ledger.reserve(caller, tokens(1)))));
    const refused = await ledger.reserve(caller, tokens(1));
    assert.ok('code' in refused);
    assert.equal(refused.message, 'requests per day of the project: 1 of 1 used');
    assert.ok(!('code' in (await ledger.reserve({ ...caller, projectId: null }, tokens(1)))));
  }));

test('what is over goes: old usage, windows, expired tokens, what dead gateways held; the rest stays', () =>
  withDatabase(async ({ sql, accounts }) => {
    const DAY = 86_400_000;
    const { tokens: kept, usage, ledger } = await accounts([daily], () => AT);
    const expiring = { ...caller, kind: 'sandbox', deploymentId: null } as const;
    const [over, late] = [await kept.issue(expiring, AT - 2 * DAY), await kept.issue(expiring, AT - DAY)];
    const row = {
      caller,
      modelRequested: 'auto',
      model: null,
      promptTokens: 1,
      completionTokens: 0,
      cachedTokens: 0,
      reasoningTokens: 0,
      isEstimated: false,
      costMicros: null,
      status: 200,
      isStream: false,
      firstByteMs: null,
      totalMs: 4,
    };
    for (const days of [2, 4]) usage.record({ ...row, id: `req_${days}`, at: AT - days * DAY });
    await usage.flush();
    assert.ok(!('code' in (await ledger.reserve(caller, tokens(1)))));
    await sql.session((session) =>
      session.script(`
        INSERT INTO control.ai_counter (key, starts_at, ends_at) VALUES ('old', '2025-01-01', '2025-01-02');
        INSERT INTO control.ai_holder VALUES ('dead', now() - interval '2 hours');
        INSERT INTO control.ai_held VALUES ('old', '2025-01-01', 'living', 1),
          ('organization acme tokens day', '2026-01-01', 'dead', 1)`),
    );
    await sweep(sql, AT, 3);
    assert.deepEqual([await kept.authenticate(over), await kept.authenticate(late)], ['invalid', 'expired']);
    assert.deepEqual(
      (await usage.rowsOf('acme', 9)).map(({ id }) => id),
      ['req_2'],
    );
    const keys = (table: string) => sql.all(`SELECT key FROM control.${table}`);
    assert.deepEqual(await keys('ai_counter'), [{ key: 'organization acme tokens day' }]);
    assert.deepEqual(await sql.all('SELECT amount FROM control.ai_held'), [{ amount: 1 }]);
    assert.equal((await sql.all('SELECT FROM control.ai_holder')).length, 1);
  }));

test("while the database is away an organization's own settings are those from before", async () => {
  let at = 0;
  let isAway = false;
  const remembered = createRemembered<string>({ most: 2, ms: 10, now: () => at, keepsOld: true });
  const look = (value: string) => () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve(value));
  assert.equal(await remembered.get('a', look('one')), 'one');
  isAway = true;
  at = 10;
  assert.equal(await remembered.get('a', look('two')), 'one');
  await assert.rejects(remembered.get('b', look('two')), /away/);
  isAway = false;
  assert.equal(await remembered.get('b', look('two')), 'two');
  at = 20;
  assert.equal(await remembered.get('a', look('two')), 'two');
});

/** Everything that was told before now has been heard by whoever reads the socket next. */
const heard = (sql: Postgres) => sql.all(`SELECT 1`);

test('while the database is away a call is told to come again, and served once it is back', async () => {
  const database = await open();
  const direct = new URL(database.url);
  const sockets: Socket[] = [];
  let isAway = false;
  const way = createServer((socket) => {
    sockets.push(socket);
    if (isAway) return void socket.destroy();
    const server = connect(`${direct.searchParams.get('host')}/.s.PGSQL.5432`);
    socket
      .on('error', () => {})
      .pipe(server.on('error', () => {}))
      .pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(way, 'listening');
  const through = new URL(direct.href);
  through.search = 'sslmode=disable';
  through.host = `127.0.0.1:${(way.address() as AddressInfo).port}`;
  const accounts = await openAccounts(through.href, [
    { scope: 'organization', of: 'tokens', per: 'day', most: 10_000 },
  ]);
  const gateway = await startGateway({ accounts });
  const chat = { model: 'mock/echo', messages: [{ role: 'user', content: 'hi' }] };
  try {
    assert.equal((await gateway.post('/chat/completions', chat)).status, 200);
    isAway = true;
    for (const socket of sockets) socket.destroy();
    const refused = await gateway.post('/chat/completions', chat);
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1']);
    assert.deepEqual(((await refused.json()) as { error: object }).error, {
      message: 'The gateway cannot look up tokens and limits: try again',
      type: 'server_error',
      param: null,
      code: 'unavailable',
    });
    isAway = false;
    await until(async () => (await gateway.post('/chat/completions', chat)).status === 200);
  } finally {
    await gateway.close();
    await accounts.close();
    for (const socket of sockets) socket.destroy();
    way.close();
    await database.close();
  }
});
