// What the sandbox service refuses when it starts, and what it takes where nothing is said.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isInside, sandboxConfig } from '#sandbox/service/configuration.ts';

const TOKEN = 'tokentokentokentokentokentokentoken';
const least = {
  SANDBOX_AUTH_TOKEN: TOKEN,
  SANDBOX_DATABASE_URL: 'postgres://platform_sandbox:x@localhost/platform',
  FS_PATH: '/data',
};
const hosted = {
  ...least,
  SANDBOX_PROVIDER: 'hosted',
  HOSTED_API_KEY: 'key-of-the-provider',
  HOSTED_ORG: 'acme',
  HOSTED_BASE_URL: 'https://provider.example.com',
  SANDBOX_AI_URL: 'https://api.example.com/ai',
};

test('containers of the engine of this machine are the default, on loopback, kept for thirty days', () => {
  const { limits: _limits, ...config } = sandboxConfig(least);
  assert.deepEqual(config, {
    host: '127.0.0.1',
    port: 4006,
    address: 'http://127.0.0.1:4006',
    token: TOKEN,
    databaseUrl: 'postgres://platform_sandbox:x@localhost/platform',
    destroyMs: 2_592_000_000,
    machines: {
      provider: 'container',
      socketPath: '/var/run/docker.sock',
      image: 'platform-sandbox:latest',
      images: [],
      builds: { image: null, memoryMb: 8192, processorsMax: 2, tasksMax: 512 },
      folder: '/data/sandboxes',
      hosts: null,
      aiUrl: null,
      reachesPrivate: false,
    },
    machineMax: 'xlarge',
    logsExec: false,
    warnings: [],
  });
  assert.equal(sandboxConfig({ ...least, SANDBOX_RETENTION_DAYS: '0' }).destroyMs, 0);
  assert.equal(sandboxConfig(hosted).machines.provider, 'hosted');
});

test('the hosts that sandboxes may reach are names, with all below them where they begin with a star', () => {
  const { machines } = sandboxConfig({ ...least, SANDBOX_EGRESS_HOSTS: 'API.example.com, *.npmjs.org' });
  assert.deepEqual((machines as { hosts: unknown }).hosts, ['api.example.com', '*.npmjs.org']);
});

test('the operator says which images and which largest machine may be asked for', () => {
  const { machines, machineMax } = sandboxConfig({
    ...least,
    SANDBOX_IMAGES: 'tools:3, registry.example.com:5000/a/b@sha256:00',
    SANDBOX_MACHINE_MAX: 'default',
  });
  assert.deepEqual((machines as { images: unknown }).images, ['tools:3', 'registry.example.com:5000/a/b@sha256:00']);
  assert.equal(machineMax, 'default');
});

const refusals: readonly (readonly [title: string, environment: Record<string, string>, message: RegExp])[] = [
  [
    'an unknown provider',
    { ...least, SANDBOX_PROVIDER: 'vm' },
    /SANDBOX_PROVIDER is "vm": it must be container or hosted/,
  ],
  ['no token', { ...least, SANDBOX_AUTH_TOKEN: '' }, /SANDBOX_AUTH_TOKEN must have at least 32/],
  ['a short token', { ...least, SANDBOX_AUTH_TOKEN: 'short' }, /SANDBOX_AUTH_TOKEN must have at least 32/],
  ['a public address', { ...least, HOST: '203.0.113.7' }, /HOST is 203\.0\.113\.7, which others may reach/],
  [
    'a public address for replicas',
    { ...least, SANDBOX_ADDRESS: 'http://203.0.113.7:4006' },
    /SANDBOX_ADDRESS must be the URL at which other replicas reach this replica/,
  ],
  ['a name for replicas', { ...least, SANDBOX_ADDRESS: 'http://sandbox:4006' }, /SANDBOX_ADDRESS must be/],
  ['a path for replicas', { ...least, SANDBOX_ADDRESS: 'http://10.0.0.5:4006/x' }, /SANDBOX_ADDRESS must be/],
  ['any word for the log', { ...least, SANDBOX_LOG_EXEC: 'yes' }, /SANDBOX_LOG_EXEC is "yes": it must be 1/],
  ['no database', { ...least, SANDBOX_DATABASE_URL: '' }, /SANDBOX_DATABASE_URL is not set/],
  ['no folder', { ...least, FS_PATH: '' }, /FS_PATH is not set/],
  ['an engine over TCP', { ...least, DOCKER_HOST: 'tcp://10.0.0.1:2375' }, /DOCKER_HOST must be the Unix socket/],
  ['no isolation', { ...least, SANDBOX_NETWORK_ISOLATION: 'false' }, /SANDBOX_NETWORK_ISOLATION is "false"/],
  ['half a retention', { ...least, SANDBOX_RETENTION_DAYS: '1.5' }, /SANDBOX_RETENTION_DAYS/],
  [
    'a wrong name of a host',
    { ...least, SANDBOX_EGRESS_HOSTS: 'a.b, http://c' },
    /SANDBOX_EGRESS_HOSTS has "http:\/\/c"/,
  ],
  ['no name of an image', { ...least, SANDBOX_IMAGES: 'a,--privileged' }, /SANDBOX_IMAGES has "--privileged"/],
  [
    'an unknown machine',
    { ...least, SANDBOX_MACHINE_MAX: 'huge' },
    /SANDBOX_MACHINE_MAX is "huge": it must be one of small/,
  ],
  ['a limit that is no number', { ...least, SANDBOX_MEMORY_MB: 'lots' }, /SANDBOX_MEMORY_MB/],
  ['hosted without its key', { ...hosted, HOSTED_API_KEY: '' }, /SANDBOX_PROVIDER=hosted needs HOSTED_API_KEY/],
  [
    'hosted over http',
    { ...hosted, HOSTED_BASE_URL: 'http://provider.example.com' },
    /HOSTED_BASE_URL must be an https/,
  ],
  [
    'an AI gateway over http',
    { ...hosted, SANDBOX_AI_URL: 'http://api.example.com/ai' },
    /SANDBOX_AI_URL must be the public https/,
  ],
  [
    'an internal AI gateway',
    { ...hosted, SANDBOX_AI_URL: 'https://api.internal/ai' },
    /SANDBOX_AI_URL must be the public https/,
  ],
];
for (const [title, environment, message] of refusals)
  test(`${title} is refused`, () => {
    assert.throws(
      () => sandboxConfig(environment),
      (error: Error) => message.test(error.message) && !error.message.includes('key-of-the-provider'),
    );
  });

test('that the output of commands is logged is a warning', () => {
  const { logsExec, warnings } = sandboxConfig({ ...least, SANDBOX_LOG_EXEC: '1' });
  assert.deepEqual(
    [logsExec, warnings],
    [true, ['SANDBOX_LOG_EXEC=1: the output of commands is logged, which may contain customer data']],
  );
});

test('other replicas reach a service where it says, where it listens, or in the network of its machine', () => {
  const addressOf = (environment: object, addresses?: readonly string[]): string =>
    sandboxConfig({ ...least, ...environment }, addresses).address;
  const machine = ['127.0.0.1', '169.254.7.7', '203.0.113.7', '10.0.0.5', '192.168.0.5'];
  assert.equal(addressOf({ SANDBOX_ADDRESS: 'http://10.0.0.9:80', HOST: '0.0.0.0' }, machine), 'http://10.0.0.9');
  assert.equal(addressOf({ HOST: '10.1.0.1', SANDBOX_PORT: '5000' }, machine), 'http://10.1.0.1:5000');
  assert.equal(addressOf({ HOST: 'fd00::1' }), 'http://[fd00::1]:4006');
  assert.equal(addressOf({ HOST: '0.0.0.0' }, machine), 'http://10.0.0.5:4006');
  assert.equal(addressOf({ HOST: '::' }, ['::1', 'fe80::1', '203.0.113.7']), 'http://127.0.0.1:4006');
});

test('callers are heard from this machine and private networks', () => {
  for (const address of ['127.0.0.1', '::1', '::ffff:10.1.2.3', '172.18.0.5', 'fd00::1', 'fe80::1%eth0'])
    assert.equal(isInside(address), true, address);
  for (const address of ['8.8.8.8', '::ffff:8.8.8.8', '2606:4700::1', '172.32.0.1', '', 'localhost'])
    assert.equal(isInside(address), false, address);
});
