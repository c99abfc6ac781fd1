import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { compileCache, engineEnvironment } from '#runtime/supervisor/engines/environment.ts';

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
    ARTIFACTS_S3_SECRET_ACCESS_KEY: 'secret',
    PRIVATE_PORT_TOKEN: 'token',
    GITHOST_APP_PRIVATE_KEY: 'key',
    SQLDB_PASSWORD: 'password',
    NODE_OPTIONS: '--inspect',
  };
  assert.deepEqual(engineEnvironment(environment), {
    PATH: '/bin',
    FS_PATH: '/srv',
    UV_THREADPOOL_SIZE: '8',
    MALLOC_ARENA_MAX: String(Math.max(1, Math.floor(availableParallelism() / 2))),
    WORKER_CPU_LIMIT_MS_QUEUE_PRO: '5',
    WORKER_MEMORY_MB: '64',
    TRUSTED_PROXIES: '10.0.0.1',
  });
});

test('an engine gets no password of a mail server', () => {
  const urlOf = (url: string): string | undefined => engineEnvironment({ AUTH_MAIL_URL: url })['AUTH_MAIL_URL'];
  assert.equal(urlOf('https://hooks.example.com/mail'), 'https://hooks.example.com/mail');
  for (const url of ['smtp://user:hunter2@mail.example.com', 'SMTPS://user:hunter2@mail.example.com', ' smtp://u:p@h'])
    assert.equal(urlOf(url), undefined);
});

test('what Node compiled is kept in the private cache folder, unless the operator names another', () => {
  const folder = mkdtempSync(join(tmpdir(), 'platform-cache-'));
  try {
    assert.equal(compileCache({ PLATFORM_CACHE_DIR: folder, NODE_COMPILE_CACHE: '/elsewhere' }), '/elsewhere');
    chmodSync(folder, 0o777);
    assert.equal(compileCache({ PLATFORM_CACHE_DIR: folder }), join(folder, 'node'));
    assert.equal(statSync(folder).mode & 0o777, 0o700);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('where the cache folder cannot be had, nothing compiled is kept', () => {
  assert.equal(compileCache({ PLATFORM_CACHE_DIR: '/dev/null/cache' }), null);
});
