// A provider of hosted machines that refuses, fails, lies or hangs: what a caller is told, what an operator is told,
// and that no machine is left behind.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { PlatformError } from '#core/errors.ts';
import { NO_OPTIONS } from '#core/sandbox/options.ts';
import type { SandboxBackend } from '#sandbox/backends/backend.ts';
import { openFakeHostedBackend, startHostedProvider, type FakeHostedProvider } from '#test/setup/hosted-provider.ts';

const SPEC = { key: 'a1', place: { project: 'shop', resource: 'box', id: 'one' }, options: NO_OPTIONS };
const CREATE = /^POST \/v1\/organizations\/acme\/sandboxes$/;

async function startFake(context: TestContext): Promise<FakeHostedProvider> {
  const provider = await startHostedProvider();
  context.after(() => provider.close());
  return provider;
}

async function open(
  context: TestContext,
  provider: FakeHostedProvider,
  environment: Readonly<Record<string, string>> = {},
): Promise<{ backend: SandboxBackend; reports: string[] }> {
  const reports: string[] = [];
  const backend = await openFakeHostedBackend(provider, {
    environment,
    report: (message) => void reports.push(message),
  });
  context.after(() => backend.close());
  return { backend, reports };
}

function countOf(provider: FakeHostedProvider, pattern: RegExp): number {
  return provider.requests.filter((line) => pattern.test(line)).length;
}

test('a key that is not restricted is warned of, or refused where it must be', async (context) => {
  const provider = await startFake(context);
  provider.key = { scoped: false, actions: [], expiresAt: null };
  const { reports } = await open(context, provider);
  assert.deepEqual(reports, [
    'HOSTED_API_KEY is not restricted to certain actions; create a key with only the actions that docs/sandbox-provider.md lists',
    'HOSTED_API_KEY never expires: create one that expires within 365 days',
  ]);
  await assert.rejects(openFakeHostedBackend(provider, { environment: { HOSTED_REQUIRE_SCOPED_KEY: 'true' } }), {
    message:
      'HOSTED_REQUIRE_SCOPED_KEY: HOSTED_API_KEY is not restricted to certain actions; create a key with only the actions that docs/sandbox-provider.md lists',
  });
});

test('a key that may write snapshots is for templates alone', async (context) => {
  const provider = await startFake(context);
  provider.key = { ...provider.key, actions: ['sandbox.create', 'snapshot.write'] };
  await assert.rejects(
    openFakeHostedBackend(provider, { environment: { HOSTED_REQUIRE_SCOPED_KEY: 'true' } }),
    /HOSTED_API_KEY may write snapshots/,
  );
});

test('a key that the provider does not know ends the start', async (context) => {
  const provider = await startFake(context);
  await assert.rejects(openFakeHostedBackend(provider, { environment: { HOSTED_API_KEY: 'another' } }), {
    kind: 'sandbox_provider',
    message: 'the provider does not know HOSTED_API_KEY: it may have expired',
  });
});

test('a machine type that the provider lacks ends the start', async (context) => {
  const provider = await startFake(context);
  provider.machineTypes = ['small', 'default'];
  await assert.rejects(openFakeHostedBackend(provider, { environment: { HOSTED_MACHINE_TYPE: 'large' } }), {
    message: 'HOSTED_MACHINE_TYPE is large, and the provider has small, default',
  });
});

test('what machines of a provider cannot be is refused before anything is asked of it', async (context) => {
  const provider = await startFake(context);
  const { backend } = await open(context, provider);
  const asked = provider.requests.length;
  for (const [options, message] of [
    [{ machine: 'xlarge' }, 'the provider has no machine "xlarge": it has small, default, large'],
    [
      { image: 'tools:3' },
      'machines of a hosted provider are made of its template, and take no image (tools:3): leave it out',
    ],
    [
      { egress: { mode: 'none', allow: [] } },
      'machines of a hosted provider have its network, which egress "none" cannot narrow',
    ],
  ] as const) {
    const refusal = { code: 'sandbox_option_refused', message: `Sandboxes do not support these options: ${message}` };
    assert.throws(() => backend.check({ ...NO_OPTIONS, ...options }), refusal);
    await assert.rejects(backend.create({ ...SPEC, options: { ...NO_OPTIONS, ...options } }), refusal);
  }
  assert.equal(provider.requests.length, asked);
});

test('another machine for a sandbox that there is changes the type of its stopped machine', async (context) => {
  const provider = await startFake(context);
  const { backend } = await open(context, provider);
  const typesOf = (): string[] => provider.all().map(({ name, machineType }) => `${name} ${machineType}`);
  await backend.create({ ...SPEC, options: { ...NO_OPTIONS, machine: 'small' } });
  assert.deepEqual(typesOf(), ['platform-test-a1 small']);
  await backend.stop(SPEC.key);
  await backend.resume({ ...SPEC, options: { ...NO_OPTIONS, machine: 'large' } });
  assert.deepEqual(typesOf(), ['platform-test-a1 large']);
  await backend.stop(SPEC.key);
  await backend.resume(SPEC);
  assert.deepEqual(typesOf(), ['platform-test-a1 default']);
});

test('a template that is not at its pinned snapshot ends the start, and later each launch', async (context) => {
  const provider = await startFake(context);
  const pinned = { HOSTED_TEMPLATE: 'node', HOSTED_TEMPLATE_SNAPSHOT_ID: 's1' };
  const { backend, reports } = await open(context, provider, pinned);
  provider.templates.set('node', 's2');
  await assert.rejects(backend.create(SPEC), { code: 'sandbox_unavailable' });
  assert.match(reports[0]!, /Template node is at snapshot s2, and HOSTED_TEMPLATE_SNAPSHOT_ID pins s1/);
  assert.deepEqual(provider.names(), []);
  await assert.rejects(openFakeHostedBackend(provider, { environment: pinned }), /pins s1/);
});

test('sandboxes of builds start from a template of their own, at its pinned snapshot', async (context) => {
  const provider = await startFake(context);
  const builds = { BUILD_SANDBOX_TEMPLATE: 'builds', BUILD_SANDBOX_TEMPLATE_SNAPSHOT_ID: 'b1' };
  provider.templates.set('builds', 'b1');
  const { backend, reports } = await open(context, provider, builds);
  provider.templates.set('builds', 'b2');
  const ofBuild = { ...SPEC, key: 'b1', place: { ...SPEC.place, resource: '.build' } };
  await assert.rejects(backend.create(ofBuild), { code: 'sandbox_unavailable' });
  assert.match(reports[0]!, /Template builds is at snapshot b2, and BUILD_SANDBOX_TEMPLATE_SNAPSHOT_ID pins b1/);
  await backend.create(SPEC);
  assert.deepEqual(provider.names(), ['platform-test-a1']);
  await assert.rejects(openFakeHostedBackend(provider, { environment: builds }), /pins b1/);
  const alone = { BUILD_SANDBOX_TEMPLATE_SNAPSHOT_ID: 'b1' };
  await assert.rejects(openFakeHostedBackend(provider, { environment: alone }), /set BUILD_SANDBOX_TEMPLATE/);
});

test('a provider with too many requests is asked again when it says so', async (context) => {
  const provider = await startFake(context);
  const { backend } = await open(context, provider);
  provider.misbehave(CREATE, { kind: 'status', status: 429, retryAfter: '0' }, 2);
  provider.misbehave(/\/files$/, { kind: 'status', status: 503 });
  await backend.create(SPEC);
  assert.equal(countOf(provider, CREATE), 3);
  assert.deepEqual(provider.names(), ['platform-test-a1']);
  await backend.destroy(SPEC.key);
  assert.deepEqual(provider.names(), []);
});

for (const [name, how, said] of [
  ['refuses the key', { kind: 'status', status: 401 }, /making the sandbox: the provider does not know HOSTED_API_KEY/],
  ['forbids it', { kind: 'status', status: 403 }, /making the sandbox: the provider forbids it to HOSTED_API_KEY/],
  ['has no room', { kind: 'status', status: 503, retryAfter: '0' }, /the provider answered 503/],
  ['answers what is no JSON', { kind: 'garbage' }, /the provider's answer to POST \S+\/sandboxes is no JSON/],
  ['answers without an end', { kind: 'endless' }, /the provider does not answer \(its answer is over 1048576 bytes\)/],
  ['does not answer', { kind: 'hang' }, /the provider does not answer \(UND_ERR_HEADERS_TIMEOUT\)/],
] as const)
  test(`a provider that ${name} is an error that says no more than that, and leaves nothing behind`, async (context) => {
    const provider = await startFake(context);
    const { backend, reports } = await open(context, provider);
    provider.misbehave(CREATE, how, 4);
    await assert.rejects(backend.create(SPEC), (error: PlatformError) => {
      assert.equal(error.code, 'sandbox_unavailable');
      assert.match(
        error.message,
        /^The sandbox is unavailable: (?:making the sandbox failed|the provider of sandboxes does not answer)$/,
      );
      return true;
    });
    assert.match(reports.join('\n'), said);
    assert.doesNotMatch(reports.join('\n'), /hosted-key-of-the-double/);
    assert.deepEqual(provider.names(), []);
  });

test('a machine whose agent cannot be installed is removed', async (context) => {
  const provider = await startFake(context);
  const { backend, reports } = await open(context, provider);
  provider.misbehave(/^EXEC/, { kind: 'status', status: 500 });
  await assert.rejects(backend.create(SPEC), { code: 'sandbox_unavailable' });
  assert.match(reports[0]!, /the provider answered 500/);
  assert.deepEqual(provider.names(), []);
});

test('a machine that the provider lost is absent, and its calls say so', async (context) => {
  const provider = await startFake(context);
  const { backend } = await open(context, provider);
  await backend.create(SPEC);
  provider.lose('platform-test-a1');
  await assert.rejects(backend.connect(SPEC.key), { code: 'sandbox_lost' });
  assert.equal(await backend.state(SPEC.key), 'absent');
  await assert.rejects(backend.resume(SPEC), { code: 'sandbox_lost' });
});

test('machines are listed past one page, and those of another platform are not', async (context) => {
  const provider = await startFake(context);
  const { backend } = await open(context, provider);
  for (const key of ['a1', 'a2', 'a3', 'a4', 'a5']) await backend.create({ ...SPEC, key });
  assert.deepEqual([...(await backend.keys())].toSorted(), ['a1', 'a2', 'a3', 'a4', 'a5']);
});

test('a request whose answer was lost is repeated, and makes no second machine', async (context) => {
  const provider = await startFake(context);
  const { backend } = await open(context, provider);
  provider.misbehave(CREATE, { kind: 'status', status: 503, isDone: true });
  await backend.create(SPEC);
  assert.deepEqual(provider.names(), ['platform-test-a1']);
  assert.equal(await backend.state(SPEC.key), 'running');
});
