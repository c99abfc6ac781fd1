// The migrator over a real Postgres and a real database service: what it applies, what it writes down, and who goes on
// when one is gone.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test, type TestContext } from 'node:test';
import { callResource } from '#control/api/resources/resource-calls.ts';
import { applyMigrations } from '#control/releases/apply-migrations.ts';
import { runByMigrator } from '#control/releases/migration-runs.ts';
import type { PrivatePort } from '#control/process/private-port.ts';
import { PlatformError } from '#core/errors.ts';
import { isFailure } from '#core/failure.ts';
import { checkMigrator } from '#operations/doctor/migrator.ts';
import { createDatabaseCloud } from '#runtime/stores/database-cloud.ts';
import { databaseCloudSettings } from '#runtime/stores/database-cloud-api.ts';
import type { MigratedDatabases } from '#runtime/engine/process/migrations.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { cloudEnvironment, startDatabaseCloud } from '#test/setup/database-cloud.ts';
import { startDatabases, type TestDatabases } from '#test/setup/databases.ts';
import { addDeployment, auditOf, startTestMigrator, type MigrationFiles } from '#test/setup/migrations.ts';
import { until } from '#test/setup/until.ts';

const FIRST = 'CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT);';
const SECOND = "INSERT INTO orders (note) VALUES ('first');";

let control: TestControl;
let databases: TestDatabases;
before(async () => {
  control = await startControl();
  databases = await startDatabases();
});
after(async () => {
  await databases.close();
  await control.close();
});

let projects = 0;
async function project(): Promise<{ id: string; name: string }> {
  const name = `shop-${++projects}`;
  const { body } = await control.call('POST', '/projects', { name, organizationId: control.organizationId });
  return { id: (body as { id: string }).id, name };
}

/** One that ends with the test. */
async function startMigratorFor(t: TestContext, ...given: Tail<Parameters<typeof startTestMigrator>>) {
  const migrator = await startTestMigrator(control, ...given);
  t.after(() => migrator.close());
  return migrator;
}

type Tail<List extends readonly unknown[]> = List extends readonly [unknown, ...infer Rest] ? Rest : never;

/** Asks for the migrations of a new deployment. */
async function ask(projectId: string, files: Readonly<Record<string, MigrationFiles>>, branch = 'main') {
  const { id, artifact } = await addDeployment(control, projectId, files, branch);
  const wish = {
    deploymentId: id,
    artifact,
    branch: branch === 'main' ? null : branch,
    requestedBy: control.owner.accountId,
  };
  return { id, ended: runByMigrator(control.deps, wish), again: () => runByMigrator(control.deps, wish) };
}

const rowsOf = async (namespace: string, resource = 'main'): Promise<unknown> =>
  JSON.parse(
    (await databases.client.run(
      { namespace, resource },
      1,
      0,
      JSON.stringify(['SELECT note FROM orders', [], 0]),
    )) as string,
  );

test('each migration is applied in order, once, and has its row: who, what, when, how long', async (t) => {
  const { id: projectId, name } = await project();
  await startMigratorFor(t, databases.client);
  const { id, ended } = await ask(projectId, { main: { '2.sql': SECOND, '1.sql': FIRST } });
  assert.deepEqual(await ended, {
    error: null,
    databases: [
      { resource: 'main', copied: false, applied: ['1.sql', '2.sql'], present: [], pending: [], error: null },
    ],
  });
  const rows = await control.sql`
    SELECT filename, sha256, result, requested_by, applied_by, attempt, branch, error_message,
      duration_ms >= 0 AS timed, finished_at >= started_at AS ended
    FROM control.database_migration_audit WHERE deployment_id = ${id} ORDER BY seq`;
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  const same = {
    result: 'applied',
    requested_by: control.owner.accountId,
    applied_by: 'host.1.a',
    attempt: 1,
    branch: null,
    error_message: null,
    timed: true,
    ended: true,
  };
  assert.deepEqual(
    [...rows].map((row) => ({ ...row })),
    [
      { filename: '1.sql', sha256: sha256(FIRST), ...same },
      { filename: '2.sql', sha256: sha256(SECOND), ...same },
    ],
  );
  const { ended: next, id: nextId } = await ask(projectId, { main: { '1.sql': FIRST, '2.sql': SECOND } });
  assert.deepEqual((await next).databases[0]!.applied, []);
  assert.deepEqual(await auditOf(control.sql, nextId), []);
  assert.match(JSON.stringify(await rowsOf(name)), /first/);
});

test('the API lists them by deployment, database and branch, a page at a time, for who may read the project', async (t) => {
  const { id: projectId } = await project();
  await startMigratorFor(t, databases.client);
  const first = await ask(projectId, { main: { '1.sql': FIRST }, other: { '1.sql': FIRST } });
  await first.ended;
  await (
    await ask(projectId, { main: { '1.sql': FIRST, '2.sql': SECOND } }, 'login')
  ).ended;
  const list = async (query = ''): Promise<string[]> => {
    const { body } = await control.call('GET', `/projects/${projectId}/migrations${query}`);
    return (body as { items: { database: string; branch: string | null; file: string }[] }).items.map(
      ({ database, branch, file }) => `${database} ${branch ?? '-'} ${file}`,
    );
  };
  assert.deepEqual(await list(), ['main login 2.sql', 'other - 1.sql', 'main - 1.sql']);
  assert.deepEqual(await list(`?deploymentId=${first.id}&database=main`), ['main - 1.sql']);
  assert.deepEqual(await list('?branch='), ['other - 1.sql', 'main - 1.sql']);
  assert.deepEqual(await list('?branch=login&result=applied'), ['main login 2.sql']);
  assert.deepEqual(await list('?result=failed'), []);
  const { body: page } = await control.call('GET', `/projects/${projectId}/migrations?limit=2`);
  assert.deepEqual(await list(`?cursor=${page.nextCursor}`), ['main - 1.sql']);
  const [item] = page.items;
  assert.deepEqual(item.requestedBy, { accountId: control.owner.accountId, login: 'ada', author: null });
  assert.equal(item.appliedBy, 'host.1.a');
  const stranger = await control.account('eve');
  const refused = await control.call('GET', `/projects/${projectId}/migrations`, undefined, stranger.token);
  assert.equal(refused.status, 404);
});

test('a migration that fails has a row with the reason; those before it stay, those after it wait', async (t) => {
  const { id: projectId } = await project();
  await startMigratorFor(t, databases.client);
  const { id, ended } = await ask(projectId, { main: { '1.sql': FIRST, '2.sql': 'SELECT missing;', '3.sql': SECOND } });
  const { error, databases: list } = await ended;
  assert.match(error!, /^Migration 2\.sql, line 1: no such column: missing/);
  assert.deepEqual([list[0]!.applied, list[0]!.pending], [['1.sql'], ['2.sql', '3.sql']]);
  assert.deepEqual(
    (await auditOf(control.sql, id)).map(({ filename, result }) => `${filename} ${result}`),
    ['1.sql applied', '2.sql failed'],
  );
});

test('a failed statement is reported although its cut divides a character', async (t) => {
  const { id: projectId } = await project();
  await startMigratorFor(t, databases.client);
  // The report is cut at 500 code units, here between those of one character.
  const { ended } = await ask(projectId, { main: { '1.sql': `SELECT 1, '${'😀'.repeat(300)}', missing;` } });
  const { error, databases: list } = await ended;
  assert.match(error!, /^Migration 1\.sql, line 1: no such column: missing/);
  const { statement } = list[0]!.error as { statement?: string };
  assert.equal(statement, `SELECT 1, '${'😀'.repeat(244)}\ufffd`);
});

test('an applied file that has changed is reported, each of them, and nothing is applied', async (t) => {
  const { id: projectId } = await project();
  await startMigratorFor(t, databases.client);
  await (
    await ask(projectId, { main: { '1.sql': FIRST, '2.sql': SECOND } })
  ).ended;
  const changed = { '1.sql': `${FIRST} -- other`, '2.sql': `${SECOND} -- other`, '3.sql': SECOND };
  const { id, ended } = await ask(projectId, { main: changed });
  assert.match((await ended).error!, /^Migration 1\.sql was changed after it was applied/);
  assert.deepEqual(
    (await auditOf(control.sql, id)).map(({ filename, result }) => `${filename} ${result}`),
    ['1.sql changed', '2.sql changed'],
  );
});

test("a branch's databases are made as copies of production's, and get what is new", async (t) => {
  const { id: projectId, name } = await project();
  await startMigratorFor(t, databases.client);
  await (
    await ask(projectId, { main: { '1.sql': FIRST, '2.sql': SECOND } })
  ).ended;
  const more = { '1.sql': FIRST, '2.sql': SECOND, '3.sql': "INSERT INTO orders (note) VALUES ('branch');" };
  const { id, ended } = await ask(projectId, { main: more }, 'login');
  assert.deepEqual((await ended).databases, [
    { resource: 'main', copied: true, applied: ['3.sql'], present: ['1.sql', '2.sql'], pending: [], error: null },
  ]);
  assert.deepEqual(await auditOf(control.sql, id), [
    { resource: 'main', filename: '3.sql', result: 'applied', attempt: 1, branch: 'login' },
  ]);
  assert.doesNotMatch(JSON.stringify(await rowsOf(name)), /branch/);
  assert.match(JSON.stringify(await rowsOf(name, 'main~~login')), /branch/);
});

test('one run of a project at a time, those of others beside it', async (t) => {
  const [one, other] = [await project(), await project()];
  const order: string[] = [];
  const held = Promise.withResolvers<void>();
  const slow: MigratedDatabases = {
    ...databases.client,
    async migrate(place, files) {
      order.push(`${place.namespace} ${files[0]![0]}`);
      if (files[0]![0] === 'held.sql') await held.promise;
      return databases.client.migrate(place, files);
    },
  };
  for (const member of ['host.1.a', 'host.2.b']) await startMigratorFor(t, slow, { member });
  const first = await ask(one.id, { main: { 'held.sql': FIRST } });
  await until(() => Promise.resolve(order.length === 1));
  const second = await ask(one.id, { main: { 'held.sql': FIRST, 'second.sql': SECOND } });
  const beside = await ask(other.id, { main: { 'beside.sql': FIRST } });
  assert.equal((await beside.ended).error, null);
  assert.deepEqual(order, [`${one.name} held.sql`, `${other.name} beside.sql`]);
  held.resolve();
  assert.equal((await first.ended).error, null);
  assert.deepEqual((await second.ended).databases[0]!.applied, ['second.sql']);
  assert.deepEqual(order.at(-1), `${one.name} second.sql`);
});

/** Where a migrator is cut off: before and after each thing that it changes. */
const cuts = ['before the first', 'in the second', 'after the second'] as const;

for (const cut of cuts)
  test(`a migrator that is cut off ${cut} is followed by another, and nothing is applied twice`, async (t) => {
    const { id: projectId, name } = await project();
    const hung = Promise.withResolvers<void>();
    const never = new Promise<never>(() => {});
    const hang = (): Promise<never> => {
      hung.resolve();
      return never;
    };
    const cutOff: MigratedDatabases = {
      ...databases.client,
      migrations: (place, files) => (cut === 'before the first' ? hang() : databases.client.migrations(place, files)),
      async migrate(place, files) {
        const isSecond = files[0]![0] === '2.sql';
        if (isSecond && cut === 'in the second') return hang();
        const applied = await databases.client.migrate(place, files);
        return isSecond ? hang() : applied;
      },
    };
    const first = await startMigratorFor(t, cutOff, { leaseMs: 500 });
    const files = { '1.sql': FIRST, '2.sql': SECOND, '3.sql': "INSERT INTO orders (note) VALUES ('third');" };
    const { id, ended } = await ask(projectId, { main: files });
    await hung.promise;
    await first.kill();
    await startMigratorFor(t, databases.client, { leaseMs: 500, member: 'host.2.b' });
    assert.equal((await ended).error, null);
    assert.deepEqual(
      (await auditOf(control.sql, id)).map(({ filename, result, attempt }) => `${filename} ${result} ${attempt}`),
      {
        'before the first': ['1.sql applied 2', '2.sql applied 2', '3.sql applied 2'],
        'in the second': ['1.sql applied 1', '2.sql applied 2', '3.sql applied 2'],
        'after the second': ['1.sql applied 1', '2.sql applied 1', '3.sql applied 2'],
      }[cut],
    );
    assert.equal(JSON.stringify(await rowsOf(name)).match(/first/g)?.length, 1);
  });

test('after the last interrupted attempt a run has failed, and says how often it was interrupted', async (t) => {
  const { id: projectId } = await project();
  const { id, ended, again } = await ask(projectId, { main: { '1.sql': FIRST } });
  for (const attempt of [1, 2]) {
    const hung = Promise.withResolvers<void>();
    const cutOff: MigratedDatabases = {
      ...databases.client,
      migrate: () => {
        hung.resolve();
        return new Promise(() => {});
      },
    };
    const migrator = await startMigratorFor(t, cutOff, { leaseMs: 300, attemptsMax: 2, member: `host.${attempt}.a` });
    await hung.promise;
    await migrator.kill();
  }
  await startMigratorFor(t, databases.client, { leaseMs: 300, attemptsMax: 2 });
  assert.equal((await ended).error, 'The migrations were interrupted 2 times (MIGRATOR_MAX_ATTEMPTS)');
  assert.deepEqual(await auditOf(control.sql, id), [
    { resource: 'main', filename: '1.sql', result: 'failed', attempt: 2, branch: null },
  ]);
  // The next release begins anew.
  assert.equal((await again()).error, null);
});

test('a database service that is away is waited for, which counts as no attempt', async (t) => {
  const { id: projectId } = await project();
  let isAway = true;
  const away = Promise.withResolvers<void>();
  const flaky: MigratedDatabases = {
    ...databases.client,
    migrations(place, files) {
      if (!isAway) return databases.client.migrations(place, files);
      away.resolve();
      return Promise.reject(new PlatformError('database_unavailable', { reason: 'the service does not answer' }));
    },
  };
  await startMigratorFor(t, flaky, { attemptsMax: 1 });
  const { id, ended } = await ask(projectId, { main: { '1.sql': FIRST } });
  await away.promise;
  isAway = false;
  assert.equal((await ended).error, null);
  assert.deepEqual(await auditOf(control.sql, id), [
    { resource: 'main', filename: '1.sql', result: 'applied', attempt: 1, branch: null },
  ]);
});

test('where no migrator runs a release is told so, and nothing is left that one would begin later', async () => {
  const { id: projectId } = await project();
  const { id, ended } = await ask(projectId, { main: { '1.sql': FIRST } });
  ended.catch(() => {});
  await until(async () => {
    const rows = await control.sql`
      UPDATE control.migration_run SET created_at = now() - interval '2 minutes', due_at = now() - interval '2 minutes'
      WHERE deployment_id = ${id} RETURNING id`;
    return rows.length > 0;
  });
  await assert.rejects(ended, (error) => isFailure(error, 'engines_away') && /No migrator runs/.test(error.message));
  const [run] = await control.sql`SELECT status FROM control.migration_run WHERE deployment_id = ${id}`;
  assert.deepEqual({ ...run }, { status: 'canceled' });
});

test('a deployment that is gone is asked for once, and said to be gone', async () => {
  const wish = { deploymentId: 'd000000000000', artifact: 'none', branch: null, requestedBy: null };
  await assert.rejects(runByMigrator(control.deps, wish), /The migrator cannot run migrations for d000000000000/);
});

test('the migrations of a project that was deleted are left alone', async (t) => {
  const { id: projectId } = await project();
  const { id, ended } = await ask(projectId, { main: { '1.sql': FIRST } });
  await control.sql`UPDATE control.project SET deleted_at = now() WHERE id = ${projectId}`;
  await startMigratorFor(t, databases.client);
  assert.equal((await ended).error, 'The project was deleted');
  assert.deepEqual(await auditOf(control.sql, id), []);
});

test('a release whose migrations fail says which and why, and notes what was applied all the same', async (t) => {
  const { id: projectId, name } = await project();
  await startMigratorFor(t, databases.client);
  const files = { '1.sql': FIRST, '2.sql': 'SELECT missing;' };
  const { id, artifact } = await addDeployment(control, projectId, { main: files });
  // An engine that says what is pending; it is asked for nothing else.
  const plan = [
    { resource: 'main', copied: false, applied: [], present: [], pending: ['1.sql', '2.sql'], error: null },
  ];
  const asked: unknown[] = [];
  const privatePort: PrivatePort = {
    ask: (at, given) => {
      const { dryRun } = given as { dryRun?: boolean };
      asked.push([at, dryRun]);
      return Promise.resolve({ status: 200, body: { databases: plan } as never });
    },
  };
  const deps = { ...control.deps, privatePort, migrationsExecutor: 'migrator' } as const;
  await assert.rejects(applyMigrations(deps, { id, name, artifact, requestedBy: null }, null), {
    kind: 'migrations_failed',
    message: 'Migration 2.sql, line 1: no such column: missing at offset 7',
  });
  assert.deepEqual(asked, [['/_platform/migrate', true]]);
  const [row] = await control.sql`SELECT migrations FROM control.deployment WHERE id = ${id}`;
  assert.deepEqual(
    row!['migrations'].map(({ resource, files: ran, on }: Record<string, unknown>) => ({ resource, ran, on })),
    [{ resource: 'main', ran: ['1.sql'], on: 'production' }],
  );
});

test('platform doctor says when deployments wait for a migrator that is not there', async (t) => {
  const { id: projectId } = await project();
  const look = async (executor: string) =>
    (await checkMigrator(control.sql, { DB_MIGRATIONS_EXECUTOR: executor })).map(
      ({ status, message }) => `${status} ${message}`,
    );
  const { id, ended } = await ask(projectId, { main: { '1.sql': FIRST } });
  await until(async () => {
    const rows = await control.sql`
      UPDATE control.migration_run SET created_at = now() - interval '45 seconds', due_at = now() - interval '45 seconds'
      WHERE deployment_id = ${id} RETURNING id`;
    return rows.length > 0;
  });
  assert.deepEqual(await look('migrator'), ['fail 1 deployments wait for a migrator, and no migrator is running']);
  assert.deepEqual(await look(''), []);
  await startMigratorFor(t, databases.client);
  assert.equal((await ended).error, null);
  assert.deepEqual(await look('migrator'), ['ok It applies migrations: of 0 deployments now, 0 wait']);
  assert.match((await look('nobody'))[0]!, /^fail DB_MIGRATIONS_EXECUTOR must be migrator, or engine/);
});

test('where the migrator applies them, nobody applies them by hand', async () => {
  const { id: projectId } = await project();
  const deps = { ...control.deps, migrationsExecutor: 'migrator' } as const;
  await assert.rejects(callResource(deps, 'db.migrate', { projectId, binding: 'MAIN', args: {} }), {
    code: 'conflict',
    message: /On this platform, the migrator applies migrations: redeploy or promote the deployment instead/,
  });
});

test('databases of a managed cloud are migrated the same way', async (t) => {
  const cloud = await startDatabaseCloud();
  t.after(() => cloud.close());
  const store = createDatabaseCloud(databaseCloudSettings(cloudEnvironment(cloud)));
  t.after(() => store.close());
  const { id: projectId } = await project();
  await startMigratorFor(t, store);
  const { id, ended } = await ask(projectId, { main: { '1.sql': FIRST, '2.sql': SECOND } });
  assert.deepEqual((await ended).databases[0]!.applied, ['1.sql', '2.sql']);
  assert.deepEqual(
    (await auditOf(control.sql, id)).map(({ filename, result }) => `${filename} ${result}`),
    ['1.sql applied', '2.sql applied'],
  );
});
