// What the builder takes from its environment, and what it refuses by name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builderConfig } from '#builder/service/configuration.ts';

const GB = 1024 ** 3;
const needed = {
  DATABASE_URL: 'postgres://u:p@localhost/d',
  FS_PATH: '/srv/data',
  ENCRYPTION_KEY: '0123456789abcdef0123456789abcdef',
};

test('builds at a time follow memory, BUILD_CONCURRENCY, and WORKER_CONCURRENCY as a bound', () => {
  const at = (memory: number, more: Record<string, string> = {}): number =>
    builderConfig({ ...needed, ...more }, memory).concurrency;
  assert.equal(at(2 * GB), 1);
  assert.equal(at(4 * GB), 2);
  assert.equal(at(64 * GB, { BUILD_CONCURRENCY: '5' }), 5);
  assert.equal(at(64 * GB, { WORKER_CONCURRENCY: '1' }), 1);
  assert.equal(at(64 * GB, { WORKER_CONCURRENCY: '1000' }), 2);
  assert.equal(at(64 * GB, { WORKER_CONCURRENCY: '1', BUILD_CONCURRENCY: '3' }), 3);
});

test('builds share three quarters of the memory of the machine', () => {
  const at = (memory: number, more: Record<string, string> = {}): number =>
    builderConfig({ ...needed, ...more }, memory).limits.build.memoryMbMax;
  assert.equal(at(2 * GB), 1536);
  assert.equal(at(4 * GB), 1536);
  assert.equal(at(64 * GB), 4096);
  assert.equal(at(64 * GB, { BUILD_MEMORY_MB: '512' }), 512);
});

test('what is missing or not there yet is refused by name', () => {
  const refusal = (more: Record<string, string>): string => {
    try {
      builderConfig({ ...needed, ...more }, 4 * GB);
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };
  assert.match(refusal({ DATABASE_URL: '' }), /^DATABASE_URL is not set/);
  assert.match(refusal({ FS_PATH: '' }), /^FS_PATH is not set/);
  assert.match(refusal({ ENCRYPTION_KEY: '' }), /^ENCRYPTION_KEY is not set: make one with `openssl rand -hex 32`/);
  assert.match(refusal({ ENCRYPTION_KEY: 'short' }), /^ENCRYPTION_KEY is weak/);
  assert.match(refusal({ BUILD_EXECUTOR: 'docker' }), /^BUILD_EXECUTOR is "docker": it must be local or sandbox$/);
  assert.match(refusal({ BUILD_TIMEOUT_MS: '1 hour' }), /^BUILD_TIMEOUT_MS must be a whole number .*"1 hour"$/);
  assert.equal(refusal({ BUILD_EXECUTOR: 'local' }), '');
});

test('the address of deployments is that of the API process', () => {
  const at = (more: Record<string, string>): object => builderConfig({ ...needed, ...more }, GB).address;
  assert.deepEqual(at({}), { protocol: 'http', domain: 'localhost', port: 4001 });
  assert.deepEqual(at({ PUBLIC_PROTOCOL: 'https', HANDLER_DOMAIN: 'apps.example,other.example' }), {
    protocol: 'https',
    domain: 'apps.example',
    port: null,
  });
  assert.deepEqual(at({ HANDLER_PORT: '80' }), { protocol: 'http', domain: 'localhost', port: null });
});

test('builds in sandboxes need the service, its token and isolation', () => {
  const sandboxes = {
    BUILD_EXECUTOR: 'sandbox',
    SANDBOX_URL: 'http://127.0.0.1:4006/',
    SANDBOX_AUTH_TOKEN: '0123456789abcdef0123456789abcdef',
    SANDBOX_NETWORK_ISOLATION: 'true',
  };
  const of = (more: Record<string, string> = {}) => builderConfig({ ...needed, ...sandboxes, ...more }, GB).sandboxes;
  assert.equal(of({ BUILD_EXECUTOR: '' }), null);
  assert.deepEqual(of(), {
    url: 'http://127.0.0.1:4006',
    token: '0123456789abcdef0123456789abcdef',
    organizations: null,
    machine: null,
  });
  assert.deepEqual(of({ BUILD_EXECUTOR_ORGANIZATIONS: 'org_a, org_b,' })?.organizations, new Set(['org_a', 'org_b']));
  assert.equal(of({ BUILD_SANDBOX_MACHINE_TYPE: 'large' })?.machine, 'large');
  const wrong: [Record<string, string>, RegExp][] = [
    [{ SANDBOX_URL: '' }, /^BUILD_EXECUTOR=sandbox: SANDBOX_URL must be the address of the sandbox service/],
    [{ SANDBOX_URL: 'http://u:p@host' }, /SANDBOX_URL must be/],
    [{ SANDBOX_AUTH_TOKEN: 'short' }, /^BUILD_EXECUTOR=sandbox: SANDBOX_AUTH_TOKEN must have at least 32 visible/],
    [{ SANDBOX_NETWORK_ISOLATION: '' }, /^BUILD_EXECUTOR=sandbox: SANDBOX_NETWORK_ISOLATION must be true/],
    [{ SANDBOX_NETWORK_ISOLATION: 'false' }, /SANDBOX_NETWORK_ISOLATION must be true/],
    [
      { BUILD_SANDBOX_MACHINE_TYPE: 'huge' },
      /^BUILD_EXECUTOR=sandbox: BUILD_SANDBOX_MACHINE_TYPE is "huge": it must be one of small, default, large, xlarge$/,
    ],
  ];
  for (const [more, message] of wrong) assert.throws(() => of(more), { message });
  // Machines of a provider have networks of their own.
  assert.notEqual(of({ SANDBOX_NETWORK_ISOLATION: '', SANDBOX_PROVIDER: 'hosted' }), null);
});
