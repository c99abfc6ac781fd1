// What organizations set of the AI gateway by the API, as the gateway reads it: providers, names, limits, keys; and the
// sums of what was used.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { openPostgresAccounts, type PostgresAccounts } from '#gateway/accounts/postgres/accounts.ts';
import { createSettings, providerContext } from '#gateway/accounts/postgres/settings.ts';
import { issueToken } from '#gateway/accounts/postgres/tokens.ts';
import type { Caller, ProviderConfig, UsageRow } from '#gateway/contract/contract.ts';
import { newId } from '#control/records/ids.ts';
import { resealAll } from '#control/operator/reseal.ts';
import { encryptionKeys, unseal } from '#core/encryption.ts';
import { defaultLimits } from '#core/limits.ts';
import { openPostgres } from '#postgres/connection.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { until } from '#test/setup/until.ts';

const OLD = '0123456789abcdef0123456789abcdef';
const NEW = 'fedcba9876543210fedcba9876543210';
let control: TestControl;
let gateway: PostgresAccounts;
let org: string;
let project: string;

before(async () => {
  const limits = { ...defaultLimits.control, requestsPerMinute: 1_000_000, aiProvidersMax: 2 };
  control = await startControl({ limits });
  org = control.organizationId;
  project = newId('project');
  await control.sql`INSERT INTO control.project (id, organization_id, name) VALUES (${project}, ${org}, 'shop')`;
  gateway = await openPostgresAccounts({
    connection: { url: control.databaseUrl, name: 'test gateway', connectionsMax: 2 },
    now: Date.now,
    limitsOf: () => [],
    table: { providers: [], aliases: { fast: 'openai/large', slow: 'openai/large' }, auto: ['openai/large'] },
    // The other key is what ENCRYPTION_KEY becomes in a test.
    keys: encryptionKeys(`${NEW},${OLD}`),
    usageDays: 10_000,
    log: () => {},
  });
});
after(async () => {
  await gateway.close();
  await control.close();
});

/** A change that the API takes. */
async function change(method: string, path: string, body?: unknown) {
  const answer = await control.call(method, path, body);
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body;
}

/** The organization's providers as the gateway has them, once they are so. */
async function served(is: (providers: readonly ProviderConfig[]) => boolean): Promise<void> {
  await until(async () => is((await gateway.models(org)).providers));
}

const provider = { kind: 'openai', url: 'https://models.example/v1', key: 'sk-of-acme', models: ['small'] };
const callerOf = (more: Partial<Caller> = {}): Caller => ({
  kind: 'worker',
  organizationId: org,
  projectId: project,
  deploymentId: null,
  branch: 'main',
  plan: 'free',
  runId: null,
  ...more,
});

test('a provider serves as it was made, its key is never shown, and goes to no other address', async () => {
  const path = `/orgs/${org}/ai/providers/acme-models`;
  const made = await change('PUT', path, provider);
  const { id, updatedAt, ...shown } = made;
  assert.match(id, /^aip_[a-z0-9]{20}$/);
  assert.ok(Date.parse(updatedAt) > 0);
  const rest = {
    name: 'acme-models',
    kind: 'openai',
    url: provider.url,
    hasKey: true,
    models: ['small'],
    enabled: true,
  };
  assert.deepEqual(shown, rest);
  const { body: settings } = await control.call('GET', `/orgs/${org}/ai`);
  assert.deepEqual(settings, {
    providers: [made],
    aliases: {},
    auto: [],
    limits: [],
    readiness: { state: 'ready', advice: null },
  });
  assert.doesNotMatch(JSON.stringify([made, settings]), /sk-of-acme/);
  const [row] = await control.sql`SELECT key FROM control.ai_provider WHERE id = ${id}`;
  assert.ok(!row!['key'].includes('sk-of-acme'));
  const table = { name: 'acme-models', kind: 'openai', url: provider.url, isPrivate: false, models: ['small'] };
  await served((providers) => isDeepStrictEqual(providers, [{ ...table, key: 'sk-of-acme' }]));

  // Without a word about it the key stays, but for another address.
  assert.equal((await change('PUT', path, { kind: 'openai', url: provider.url })).hasKey, true);
  await served(([first]) => first?.key === 'sk-of-acme' && first.models.length === 0);
  assert.equal((await change('PUT', path, { kind: 'openai', url: 'https://other.example/v1' })).hasKey, false);
  await served(([first]) => first?.key === '');

  await change('PUT', path, provider);
  await served(([first]) => first?.key === 'sk-of-acme');
  assert.deepEqual(await resealAll(control.sql, encryptionKeys(`${NEW},${OLD}`)), { resealed: 1, unreadable: 0 });
  const [resealed] = await control.sql<{ key: Buffer }[]>`SELECT key FROM control.ai_provider WHERE id = ${id}`;
  assert.equal(unseal(encryptionKeys(NEW), resealed!.key, providerContext(id)), 'sk-of-acme');
  await change('PUT', path, { ...provider, enabled: false });
  await served((providers) => providers.length === 0);
  await change('DELETE', path);
  assert.equal((await control.call('DELETE', path)).status, 404);
});

test('a provider that cannot be used is refused with what is wrong', async () => {
  const put = async (name: string, body: object): Promise<unknown> => {
    const { status, body: answer } = await control.call('PUT', `/orgs/${org}/ai/providers/${name}`, body);
    return [status, answer.message];
  };
  for (const [url, problem] of [
    ['http://models.example/v1', 'must begin with https://'],
    ['https://169.254.169.254/v1', 'must not lead to a private address'],
    ['https://localhost.example:1@10.0.0.1/', 'must not hold a user or a password'],
    ['nonsense', 'must begin with https://'],
  ] as const) {
    const [status, message] = (await put('acme', { ...provider, url })) as [number, string];
    assert.equal(status, 400, url);
    assert.ok(message.includes(`body.url: ${problem}`), message);
  }
  for (const [name, body] of [
    ['Acme', provider],
    ['a/b', provider],
    ['acme', { ...provider, kind: 'magic' }],
    ['acme', { ...provider, key: '' }],
    ['acme', { ...provider, models: ['has space'] }],
    ['acme', { ...provider, more: 1 }],
  ] as const)
    assert.match(String(((await put(name, body)) as [number])[0]), /^40[04]$/, JSON.stringify([name, body]));
  for (const name of ['one', 'two']) await change('PUT', `/orgs/${org}/ai/providers/${name}`, provider);
  const refused = await control.call('PUT', `/orgs/${org}/ai/providers/three`, provider);
  assert.deepEqual([refused.status, refused.body.code], [409, 'limit_reached']);
  for (const name of ['one', 'two']) await change('DELETE', `/orgs/${org}/ai/providers/${name}`);
});

test("an organization's own names stand before the operator's, and each limit applies to whom it was set for", async () => {
  const limits = [{ of: 'tokens', per: 'month', most: 1000 }];
  const settings = { aliases: { fast: 'own/small' }, auto: ['own/small', 'openai/large'], limits };
  assert.deepEqual(await change('PUT', `/orgs/${org}/ai`, settings), settings);
  await change('PUT', `/projects/${project}/ai`, { limits: [{ of: 'requests', per: 'minute', most: 500 }] });
  assert.deepEqual((await control.call('GET', `/projects/${project}/ai`)).body, {
    limits: [{ of: 'requests', per: 'minute', most: 500 }],
    readiness: { state: 'ready', advice: null },
  });
  await until(async () =>
    isDeepStrictEqual(await gateway.models(org), {
      providers: [],
      aliases: { fast: 'own/small', slow: 'openai/large' },
      auto: ['own/small', 'openai/large'],
    }),
  );
  const tokens = { promptTokens: 0, completionTokens: 0, costMicros: 0 };
  const limitsOf = async (caller: Caller): Promise<unknown> => {
    const room = await gateway.ledger.reserve(caller, tokens);
    assert.ok(!('code' in room));
    room.settle(null);
    return [room.requests?.limit, room.tokens?.limit];
  };
  await until(async () => isDeepStrictEqual(await limitsOf(callerOf()), [500, 1000]));
  assert.deepEqual(await limitsOf(callerOf({ projectId: 'prj_other' })), [undefined, 1000]);
  for (const body of [
    { ...settings, auto: ['no-slash'] },
    { ...settings, aliases: { auto: 'own/small' } },
    { ...settings, aliases: { 'a/b': 'own/small' } },
    { ...settings, limits: [...limits, ...limits] },
    { ...settings, limits: [{ of: 'tokens', per: 'month', most: -1 }] },
    { ...settings, limits: [{ of: 'tokens', per: 'year', most: 1 }] },
    { ...settings, limits: [{ of: 'tokens', per: 'month', most: 1.5 }] },
    { ...settings, limits: [{ of: 'cost', per: 'minute', most: 1 }] },
    { ...settings, limits: [{ of: 'cost', per: 'month', most: 100_000_001 }] },
  ])
    assert.equal((await control.call('PUT', `/orgs/${org}/ai`, body)).status, 400, JSON.stringify(body));
});

test('a key is shown once, has limits of its own, and ends at once when it is revoked', async () => {
  const limits = [{ of: 'requests', per: 'minute', most: 1 }];
  const made = await change('POST', `/orgs/${org}/ai/keys`, { name: 'notebook', limits, days: 30 });
  assert.match(made.key, /^pk_ai_ait[a-z0-9]{20}_[A-Za-z0-9_-]{43}$/);
  assert.equal(made.hint, made.key.slice(0, 14));
  const { body: listed } = await control.call('GET', `/orgs/${org}/ai/keys`);
  const { key, ...shown } = made;
  assert.deepEqual(listed, [shown]);
  const found = (await gateway.tokens.authenticate(key)) as Caller;
  assert.deepEqual(found, { ...callerOf({ kind: 'key', projectId: null, branch: null }), keyId: made.id });
  const tokens = { promptTokens: 1, completionTokens: 1, costMicros: 0 };
  const room = await gateway.ledger.reserve(found, tokens);
  assert.ok(!('code' in room));
  assert.equal(room.requests?.limit, 1);
  const refused = await gateway.ledger.reserve(found, tokens);
  assert.ok('code' in refused);
  assert.equal(refused.message, 'requests per minute of the key: 1 of 1 used');

  await change('DELETE', `/orgs/${org}/ai/keys/${made.id}`);
  await until(async () => (await gateway.tokens.authenticate(key)) === 'invalid');
  assert.equal((await control.call('DELETE', `/orgs/${org}/ai/keys/${made.id}`)).status, 404);
  assert.deepEqual((await control.call('GET', `/orgs/${org}/ai/keys`)).body, []);
});

test('the limits of a key that was made a moment ago are known before the news of it has come', async () => {
  const sql = openPostgres({ url: control.databaseUrl, name: 'test settings', connectionsMax: 1 });
  try {
    const table = { providers: [], aliases: {}, auto: [] };
    const settings = createSettings({ sql, table, keys: encryptionKeys(NEW), now: Date.now, log: () => {} });
    const before = callerOf({ kind: 'key', projectId: null, branch: null });
    const ofOrganization = await settings.limitsOf(before);
    const limits = [{ of: 'requests', per: 'minute', most: 1 }] as const;
    const made = await issueToken(sql, { ...before, deploymentId: null, runId: null }, null, { limits });
    const found = await settings.limitsOf({ ...before, keyId: made.id });
    assert.deepEqual(found, [...ofOrganization, { ...limits[0], scope: 'key' }]);
    await sql.all('DELETE FROM control.ai_token WHERE id = $1', made.id);
  } finally {
    await sql.close();
  }
});

test('usage is added up by what is asked for, and calls are listed by pages, of one organization and project alone', async () => {
  const at = Date.UTC(2026, 0, 1, 12);
  const row = (n: number, more: Partial<UsageRow> = {}): UsageRow => ({
    id: `req_${n}`,
    at: at + n * 60_000,
    caller: callerOf({ runId: n > 2 ? 'run-1' : null, kind: n > 2 ? 'agent' : 'worker' }),
    modelRequested: 'auto',
    model: 'openai/large',
    promptTokens: 10,
    completionTokens: 5,
    cachedTokens: 1,
    reasoningTokens: 2,
    isEstimated: false,
    costMicros: 100,
    status: 200,
    isStream: true,
    firstByteMs: n * 10,
    totalMs: 100,
    ...more,
  });
  gateway.usage.record(row(1));
  gateway.usage.record(
    row(2, {
      model: null,
      status: 502,
      promptTokens: 0,
      completionTokens: 0,
      cachedTokens: 0,
      reasoningTokens: 0,
      costMicros: 0,
      firstByteMs: null,
    }),
  );
  gateway.usage.record(row(3, { model: 'mock/echo', costMicros: null }));
  gateway.usage.record(row(4, { caller: callerOf({ organizationId: 'org_other' }) }));
  await gateway.usage.flush();
  const from = new Date(at).toISOString();
  const to = new Date(at + 3_600_000).toISOString();
  const { body } = await control.call('GET', `/orgs/${org}/ai/usage?from=${from}&to=${to}&groupBy=model`);
  assert.deepEqual(body.totals, {
    calls: 3,
    failures: 1,
    promptTokens: 20,
    completionTokens: 10,
    cachedTokens: 2,
    reasoningTokens: 4,
    costMicros: 100,
    unpriced: 1,
    firstByteMsP50: 20,
    firstByteMsP99: 29.8,
  });
  assert.deepEqual(
    body.items.map((item: { group: string; calls: number; costMicros: number }) => [
      item.group,
      item.calls,
      item.costMicros,
    ]),
    [
      ['mock/echo', 1, 0],
      ['openai/large', 1, 100],
      ['auto', 1, 0],
    ],
  );
  const { body: days } = await control.call('GET', `/projects/${project}/ai/usage?from=${from}&to=${to}&groupBy=day`);
  assert.deepEqual(
    days.items.map((item: { at: string; group: null; calls: number }) => [item.at, item.group, item.calls]),
    [['2026-01-01T00:00:00.000Z', null, 3]],
  );
  const idsOf = async (query: string): Promise<string[]> => {
    const found: string[] = [];
    for (let cursor = ''; ;) {
      const { body: page } = await control.call('GET', `/projects/${project}/ai/calls?limit=2${query}${cursor}`);
      found.push(...page.items.map(({ id }: { id: string }) => id));
      if (page.nextCursor === null) return found;
      cursor = `&cursor=${page.nextCursor}`;
    }
  };
  assert.deepEqual(await idsOf(''), ['req_3', 'req_2', 'req_1']);
  assert.deepEqual(await idsOf('&run=run-1'), ['req_3']);
  assert.deepEqual(await idsOf('&failed=true'), ['req_2']);
  assert.deepEqual(await idsOf('&model=openai/large'), ['req_1']);
});

test('a budget includes what the month has cost already, and refuses calls when it is spent', async () => {
  const caller = callerOf();
  const usage = { promptTokens: 10, completionTokens: 5, cachedTokens: 0, reasoningTokens: 0, isEstimated: false };
  const call = { caller, modelRequested: 'auto', status: 200, isStream: false, firstByteMs: 1, totalMs: 2, ...usage };
  const at = Date.now();
  gateway.usage.record({ ...call, id: 'req_priced', at, model: 'openai/large', costMicros: 6_000_000 });
  gateway.usage.record({ ...call, id: 'req_free', at, model: 'mock/echo', costMicros: null });
  await gateway.usage.flush();
  await change('PUT', `/orgs/${org}/ai`, { aliases: {}, auto: [], limits: [] });
  await change('PUT', `/projects/${project}/ai`, { limits: [{ of: 'cost', per: 'month', most: 10.5 }] });
  for (const path of [`/projects/${project}/ai/month`, `/orgs/${org}/ai/month`]) {
    const { body } = await control.call('GET', path);
    assert.deepEqual([body.spentMicros, body.unpriced], [6_000_000, 1]);
    assert.equal(body.budgetMicros, path.startsWith('/projects') ? 10_500_000 : null);
    assert.ok(body.forecastMicros >= 6_000_000 && Date.parse(body.from) <= at && at < Date.parse(body.to));
  }
  const spend = (costMicros: number) => ({ promptTokens: 1, completionTokens: 1, costMicros });
  const reserved = async () => {
    const room = await gateway.ledger.reserve(caller, spend(1_000_000));
    if (!('code' in room)) return room;
    throw new Error(room.message);
  };
  // Until the gateway knows of the budget.
  const room = await until(async () => {
    const found = await reserved();
    if (found.isBounded && found.tokens === null) return found;
    found.settle(null);
    return null;
  });
  room.settle(spend(5_000_000));
  const refused = await gateway.ledger.reserve(caller, spend(1));
  assert.ok('code' in refused);
  assert.deepEqual(
    [refused.code, refused.message],
    ['insufficient_quota', 'cost per month of the project: 11 of 10.5 used'],
  );
  const free = await gateway.ledger.reserve(caller, spend(0));
  assert.ok(!('code' in free));
  free.settle(null);
  // A budget that is set again forgets nothing.
  await change('PUT', `/projects/${project}/ai`, { limits: [] });
  await change('PUT', `/projects/${project}/ai`, { limits: [{ of: 'cost', per: 'month', most: 11 }] });
  await until(async () => 'code' in (await gateway.ledger.reserve(caller, spend(1))));
});
