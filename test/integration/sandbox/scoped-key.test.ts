// The key that the sandbox service has of a provider: what is asked for, what is refused, and that a provider that is
// busy is asked again.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { command } from '#cli/commands/secrets/sandbox-key.ts';
import { makeScopedKey, type ScopedKey } from '#sandbox/backends/hosted/scoped-key.ts';
import { ADMIN_KEY, CERTIFICATE, startHostedProvider, type FakeHostedProvider } from '#test/setup/hosted-provider.ts';

const NOW = Date.UTC(2026, 0, 1);
const KEYS = /^POST \/v1\/organizations\/acme\/keys$/;
const ACTIONS = [
  'sandbox.create',
  'sandbox.read',
  'sandbox.update',
  'sandbox.resume',
  'sandbox.stop',
  'sandbox.delete',
  'exec',
  'file.read',
  'file.write',
  'account.read',
];

async function startFake(context: TestContext): Promise<FakeHostedProvider> {
  const provider = await startHostedProvider();
  context.after(() => provider.close());
  return provider;
}

function make(provider: FakeHostedProvider, more: object = {}): Promise<ScopedKey> {
  return makeScopedKey({
    baseUrl: provider.baseUrl,
    adminKey: ADMIN_KEY,
    organization: 'acme',
    name: 'one',
    days: 365,
    hasTemplate: false,
    now: NOW,
    certificateAuthority: CERTIFICATE,
    retryMs: 1,
    ...more,
  });
}

test('a key has the actions that the service takes, and ends after a year', async (context) => {
  const provider = await startFake(context);
  assert.deepEqual(await make(provider), {
    name: 'one',
    key: 'made-key-one',
    actions: ACTIONS,
    expiresAt: '2027-01-01T00:00:00.000Z',
  });
  await make(provider, { name: 'two', days: 30, hasTemplate: true });
  assert.deepEqual(provider.keys, [
    { name: 'one', actions: ACTIONS, expiresAt: '2027-01-01T00:00:00.000Z' },
    { name: 'two', actions: [...ACTIONS, 'snapshot.read'], expiresAt: '2026-01-31T00:00:00.000Z' },
  ]);
});

test('a provider that changes credentials is asked again, eight times in all', async (context) => {
  const provider = await startFake(context);
  provider.misbehave(KEYS, { kind: 'status', status: 503 }, 7);
  assert.equal((await make(provider)).key, 'made-key-one');
  assert.equal(provider.requests.filter((line) => KEYS.test(line)).length, 8);
  provider.misbehave(KEYS, { kind: 'status', status: 503 }, 8);
  await assert.rejects(make(provider, { name: 'two' }), {
    message: 'the provider answered 503 (as the test wants it)',
  });
  assert.equal(provider.keys.length, 1);
});

test('a key that may do more or lasts longer is refused, and is in no message', async (context) => {
  const provider = await startFake(context);
  for (const keysMade of [
    { actions: [...ACTIONS, 'snapshot.write'] },
    { actions: [] },
    { expiresAt: null },
    { expiresAt: '2099-01-01T00:00:00Z' },
  ]) {
    provider.keysMade = keysMade;
    const name = `k${provider.keys.length}`;
    await assert.rejects(make(provider, { name }), ({ message }: Error) => {
      assert.match(
        message,
        new RegExp(`^the provider made another key than it was asked for .*: delete ${name} there$`),
      );
      assert.doesNotMatch(message, /made-/);
      return true;
    });
  }
});

test('a name that is taken, and a key that may make none, are said', async (context) => {
  const provider = await startFake(context);
  await make(provider);
  await assert.rejects(make(provider), {
    message: 'the provider has a key one already: give another --name, or delete it there',
  });
  await assert.rejects(make(provider, { name: 'two', adminKey: 'another' }), ({ message }: Error) => {
    assert.equal(message, 'the provider forbids it to HOSTED_ADMIN_KEY: see its actions in docs/sandbox-provider.md');
    return true;
  });
});

test('the command refuses what it lacks and what is wrong before it asks anybody', async () => {
  const run = (args: object, env: Record<string, string>): Promise<unknown> =>
    Promise.resolve(command.run!({ args, data: { env }, rawArgs: [], cmd: command } as never));
  const env = { HOSTED_ADMIN_KEY: ADMIN_KEY, HOSTED_BASE_URL: 'https://localhost:1', HOSTED_ORG: 'acme' };
  await assert.rejects(run({ days: '365' }, { HOSTED_ORG: 'acme' }), {
    message: 'platform secrets sandbox-key needs HOSTED_ADMIN_KEY, HOSTED_BASE_URL in its environment',
  });
  await assert.rejects(run({ days: '366' }, env), /--days/);
  await assert.rejects(run({ days: '1', name: '-x' }, env), /--name takes at most 63/);
  await assert.rejects(run({ days: '1' }, { ...env, HOSTED_BASE_URL: 'http://provider.example' }), {
    message: 'HOSTED_BASE_URL must be an https address without a key or a query, but is "http://provider.example"',
  });
});
