// The root of the database service: what it takes from the environment, what it says, and how it ends.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { databaseOps as ops } from '#core/database-request.ts';
import { createDatabaseClient, type DatabaseClient } from '#runtime/stores/database-service.ts';
import { cloudEnvironment, startDatabaseCloud } from '#test/setup/database-cloud.ts';

const script = join(import.meta.dirname, '../../runtime/databases/main.ts');
const at = { namespace: 'shop', resource: 'main' };

function start(
  t: TestContext,
  environment: Record<string, string>,
): { child: ChildProcess; folder: string; errors: () => string } {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  const env = { DB_STORAGE_DIR: join(folder, 'files'), DB_SERVICE_SOCKETS: join(folder, 'sockets'), ...environment };
  const child = fork(script, {
    env,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  return { child, folder, errors: () => errors };
}

async function rows(client: DatabaseClient, sql: string): Promise<unknown> {
  const { e, r } = JSON.parse((await client.run(at, ops.query, 0, JSON.stringify([sql, []]))) as string) as {
    e?: unknown;
    r: unknown;
  };
  return e ?? r;
}

test('it says where it listens, keeps what it acknowledged, and is the same place after a restart', async (t) => {
  const first = start(t, {});
  const [ready] = (await once(first.child, 'message')) as [{ type: string; socketPath: string }];
  assert.deepEqual(ready, { type: 'listening', socketPath: join(first.folder, 'sockets/service.sock'), port: null });
  const client = createDatabaseClient({ socketPath: ready.socketPath });
  t.after(() => client.close());
  assert.deepEqual(await rows(client, 'CREATE TABLE t (a)'), []);
  assert.deepEqual(await rows(client, "INSERT INTO t VALUES ('kept')"), []);
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  const second = start(t, {
    DB_STORAGE_DIR: join(first.folder, 'files'),
    DB_SERVICE_SOCKETS: join(first.folder, 'sockets'),
  });
  await once(second.child, 'message');
  assert.deepEqual(await rows(client, 'SELECT a FROM t'), [['kept']]);
  second.child.kill('SIGTERM');
  assert.deepEqual(await once(second.child, 'exit'), [0, null]);
  assert.deepEqual(readdirSync(join(first.folder, 'files/shop')), ['main.sqlite']);
  assert.deepEqual(
    readdirSync(join(first.folder, 'sockets')).filter((name) => name === 'service.sock'),
    [],
  );
});

test('a setting that is wrong is named, and ends it', async (t) => {
  const wrong: [Record<string, string>, string][] = [
    [{ DB_STORAGE_DIR: '' }, 'DB_STORAGE_DIR is not set: the folder of the project databases'],
    [{ DB_SHARDS: 'two' }, 'DB_SHARDS must be a whole number from 1 to 64, but is "two"'],
    [{ DB_SERVICE_PORT: '4010' }, 'DB_SERVICE_PORT needs DB_SERVICE_TOKEN, a secret of at least 16 characters'],
    [{ DB_STATEMENT_MS: '0' }, 'DB_STATEMENT_MS must be a whole number of at least 1, but is "0"'],
    [{ DB_STORAGE_MODE: 'cloud' }, 'DB_STORAGE_MODE must be basic or managed-cloud, but is "cloud"'],
  ];
  await Promise.all(
    wrong.map(async ([environment, message]) => {
      const { child, errors } = start(t, environment);
      assert.deepEqual(await once(child, 'close'), [78, null]);
      assert.equal(errors(), `databases: ${message}\n`);
    }),
  );
});

test('with a managed cloud the service alone holds its tokens', async (t) => {
  const cloud = await startDatabaseCloud();
  t.after(() => cloud.close());
  const { child } = start(t, {
    DB_STORAGE_MODE: 'managed-cloud',
    ...cloudEnvironment(cloud),
  });
  const [{ socketPath }] = (await once(child, 'message')) as [{ socketPath: string }];
  const client = createDatabaseClient({ socketPath });
  t.after(() => client.close());
  assert.deepEqual(await client.migrate(at, [['1.sql', "CREATE TABLE t (a); INSERT INTO t VALUES ('in the cloud')"]]), [
    '1.sql',
  ]);
  assert.deepEqual(await rows(client, 'SELECT a FROM t'), [['in the cloud']]);
  await client.branch(at, 'preview');
  await assert.rejects(client.restore(at, '/tmp/none'), { code: 'SQLITE_MISUSE' });
  cloud.failWith(503);
  await assert.rejects(rows(client, 'SELECT 1'), { code: 'database_unavailable' });
});
