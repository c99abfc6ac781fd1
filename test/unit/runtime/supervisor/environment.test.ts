import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineEnvironment } from '#runtime/supervisor/environment.ts';

test('an engine gets its settings, and no secret of another service', () => {
  const environment = {
    PATH: '/bin',
    FS_PATH: '/srv',
    WORKER_CPU_LIMIT_MS_QUEUE_PRO: '5',
    WORKER_MEMORY_MB: '64',
    TRUSTED_PROXIES: '10.0.0.1',
    DATABASE_URL: 'postgres://user:password@host/db',
    CACHE_URL: 'redis://:password@host',
    ENCRYPTION_KEY: 'key',
    AUTH_SECRET: 'secret',
    GITHOST_APP_PRIVATE_KEY: 'key',
    SQLDB_PASSWORD: 'password',
    NODE_OPTIONS: '--inspect',
  };
  assert.deepEqual(engineEnvironment(environment), {
    PATH: '/bin',
    FS_PATH: '/srv',
    WORKER_CPU_LIMIT_MS_QUEUE_PRO: '5',
    WORKER_MEMORY_MB: '64',
    TRUSTED_PROXIES: '10.0.0.1',
  });
});
