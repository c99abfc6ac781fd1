// What organizations set of the AI gateway in Postgres, what is swept, and what holds while the database is away.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { seal } from '#core/encryption.ts';
import { createRemembered } from '#gateway/accounts/postgres/remembered.ts';
import { providerContext } from '#gateway/accounts/postgres/settings.ts';
import { sweep } from '#gateway/accounts/postgres/sweep.ts';
import { startGateway } from '#test/setup/gateway.ts';
import { until } from '#test/setup/until.ts';
import {
  KEYS,
  openDatabase,
  openAccounts,
  caller,
  AT,
  tokens,
  daily,
  withDatabase,
  heard,
} from '#test/setup/ai-accounts.ts';

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

test('while the database is away a call is told to come again, and served once it is back', async () => {
  const database = await openDatabase();
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
