// PLATFORM_PARTS: what a part that runs apart demands of its environment.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partsFrom } from '#runtime/supervisor/engines/parts.ts';

const token = 'b7c1f0e29d3a4856b7c1f0e29d3a4856';
const handler = {
  PLATFORM_PARTS: 'handler',
  FS_PATH: '/data',
  ENGINE_DATABASE_URL: `postgres://platform_engine:${token}@postgres/platform`,
  DB_URL: 'tcp://internal:80',
  DB_SERVICE_TOKEN: token,
  PRIVATE_PORT_TOKEN: token,
};
const api = {
  PLATFORM_PARTS: 'api',
  FS_PATH: '/data',
  DATABASE_URL: `postgres://platform:${token}@postgres/platform`,
  API_HANDLER_URL: 'http://handler:8081',
  PRIVATE_PORT_TOKEN: token,
};

test('without PLATFORM_PARTS everything runs here, as the other variables say', () => {
  const parts = partsFrom({});
  assert.deepEqual([parts.isChosen, parts.has('handler'), parts.has('builder')], [false, true, true]);
});

test('parts that have what they need run apart', () => {
  assert.equal(partsFrom(handler).has('api'), false);
  assert.equal(partsFrom(api).has('api'), true);
  const internal = { ...api, PLATFORM_PARTS: 'broker, databases', DB_SERVICE_PORT: '80', DB_SERVICE_TOKEN: token };
  assert.deepEqual([partsFrom(internal).has('broker'), partsFrom(internal).has('databases')], [true, true]);
  assert.equal(partsFrom({ ...api, PLATFORM_PARTS: 'builder', API_HANDLER_URL: '' }).isChosen, true);
});

test('a migrator apart needs the database service, and runs where it is asked for', () => {
  const migrator = {
    ...api,
    PLATFORM_PARTS: 'migrator',
    API_HANDLER_URL: '',
    DB_URL: 'tcp://internal:80',
    DB_SERVICE_TOKEN: token,
  };
  assert.throws(() => partsFrom(migrator), {
    message: 'DB_MIGRATIONS_EXECUTOR must be migrator: set it for the migrator, the API and the handlers',
  });
  const asked = { ...migrator, DB_MIGRATIONS_EXECUTOR: 'migrator' };
  assert.equal(partsFrom(asked).has('migrator'), true);
  assert.throws(() => partsFrom({ ...asked, DB_URL: '', DB_SERVICE_TOKEN: '' }), {
    message:
      'DB_URL is not set: set it to the address of the database service, such as tcp://internal:80\n' +
      'DB_SERVICE_TOKEN must have at least 16 characters: the migrator and the database service know each other by it; run `platform secrets init`, and give all parts the same .env',
  });
});

test('a schedule of backups is refused where nothing makes them', () => {
  assert.throws(() => partsFrom({ ...api, BACKUP_CRON: '0 3 * * *' }), {
    message:
      'BACKUP_CRON is set, but no process creates backups here: add backups to PLATFORM_PARTS on the machine with all data',
  });
  const alone = { PLATFORM_PARTS: 'backups', BACKUP_CRON: '0 3 * * *' };
  assert.throws(() => partsFrom(alone), { message: /^FS_PATH is not set: .*\nDATABASE_URL is not set: / });
  assert.equal(partsFrom({ ...api, ...alone }).has('databases'), false);
});

test('with certificates of the platform, handlers and the API apart from the edge need its token', () => {
  for (const part of [handler, api]) {
    assert.throws(() => partsFrom({ ...part, PUBLIC_HTTPS: 'on' }), {
      message:
        'EDGE_TOKEN must have at least 16 characters: PUBLIC_HTTPS is on, and this secret identifies requests that come through the edge; run `platform secrets init`, and give all parts the same .env',
    });
    assert.equal(partsFrom({ ...part, PUBLIC_HTTPS: 'on', EDGE_TOKEN: token }).isChosen, true);
  }
});

test('a mirror needs a bucket and what reads routes, and a handler that is given the bucket needs a mirror', () => {
  const bucket = {
    ARTIFACTS_S3_ENDPOINT: 'https://s3.example',
    ARTIFACTS_S3_BUCKET: 'artifacts',
    ARTIFACTS_S3_REGION: 'eu',
    ARTIFACTS_S3_ACCESS_KEY_ID: 'key',
    ARTIFACTS_S3_SECRET_ACCESS_KEY: 'secret',
  };
  const mirror = { PLATFORM_PARTS: 'mirror', FS_PATH: '/data', ENGINE_DATABASE_URL: 'postgres://e@pg/x' };
  assert.throws(() => partsFrom(mirror), {
    message:
      'ARTIFACTS_S3_BUCKET is not set: the mirror fetches artifacts from there\nPRIVATE_PORT_TOKEN must have at least 16 characters: routes are sealed with it; run `platform secrets init`, and give all parts the same .env',
  });
  assert.equal(partsFrom({ ...mirror, ...bucket, PRIVATE_PORT_TOKEN: token }).has('mirror'), true);
  const handler = {
    ...mirror,
    ...bucket,
    PRIVATE_PORT_TOKEN: token,
    DB_URL: 'http://internal',
    DB_SERVICE_TOKEN: token,
  };
  assert.throws(() => partsFrom({ ...handler, PLATFORM_PARTS: 'handler' }), {
    message:
      'ARTIFACTS_S3_* is set, but no mirror updates the routes here: add mirror to PLATFORM_PARTS, or leave ARTIFACTS_S3_* to the mirror of this machine',
  });
  assert.equal(partsFrom({ ...handler, PLATFORM_PARTS: 'handler,mirror' }).has('mirror'), true);
});

test('what is missing is named, all of it at once', () => {
  assert.throws(() => partsFrom({ PLATFORM_PARTS: 'handler,pages' }), {
    message:
      'PLATFORM_PARTS must be a comma-separated list of handler, databases, broker, api, builder, migrator, sandbox, web, edge, servers, backups, mirror, but is "handler,pages"',
  });
  const missing = (environment: Record<string, string>): string[] => {
    try {
      partsFrom(environment);
      return [];
    } catch (error) {
      return (error as Error).message.split('\n').map((line) => line.split(' ', 1)[0]!);
    }
  };
  assert.deepEqual(missing({ PLATFORM_PARTS: 'handler' }), [
    'FS_PATH',
    'PRIVATE_PORT_TOKEN',
    'ENGINE_DATABASE_URL',
    'DB_URL',
    'DB_SERVICE_TOKEN',
  ]);
  assert.deepEqual(missing({ PLATFORM_PARTS: 'api' }), ['FS_PATH', 'PRIVATE_PORT_TOKEN', 'DATABASE_URL']);
  assert.deepEqual(missing({ ...api, PLATFORM_PARTS: 'broker,databases' }), ['DB_SERVICE_PORT', 'DB_SERVICE_TOKEN']);
  assert.deepEqual(missing({ ...api, PLATFORM_PARTS: 'handler,databases,broker,api' }), []);
});
