// A machine without a shared folder: the mirror brings it routes from Postgres and artifacts from a bucket, over real
// ones, as the API publishes them.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { recordText, replaceRoute } from '#artifacts/route-records.ts';
import { routeKeysOf } from '#artifacts/sealed-route.ts';
import type { ArtifactStore } from '#artifacts/store/artifact-store.ts';
import { openArtifactsS3 } from '#artifacts/store/artifact-store-s3.ts';
import { openRoutesPostgres } from '#control/releases/routes/routes-postgres.ts';
import type { RouteFiles } from '#artifacts/route-files.ts';
import { Failure } from '#core/failure.ts';
import { defaultLimits } from '#core/limits.ts';
import type { RouteRecord } from '#core/manifest.ts';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { readInstallation } from '#postgres/installation-id.ts';
import { openSql, type Sql } from '#postgres/sql.ts';
import { startMirror, type Mirror } from '#runtime/mirror/mirror.ts';
import { deployInto } from '#test/setup/deployed-sources.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { startS3Server, type S3Server } from '#test/setup/s3-server.ts';
import { until } from '#test/setup/until.ts';

const keys = routeKeysOf('the-token-of-tests-0123456789');

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let s3: S3Server;
let sql: Sql;
let engineSql: Postgres;
let routes: RouteFiles;
/** Of the API. */
let folder: string;
let store: ArtifactStore;
const folders: string[] = [];
const opened: { close(): unknown }[] = [];

const newFolder = async (): Promise<string> => {
  const made = await mkdtemp(join(tmpdir(), 'platform-mirror-'));
  folders.push(made);
  return made;
};
const storeOf = (dataFolder: string): ArtifactStore => {
  const { endpoint, bucket, region, accessKeyId, secretAccessKey } = s3;
  const place = { endpoint, bucket, region, accessKeyId, secretAccessKey, prefix: '_artifacts' };
  const made = openArtifactsS3({ dataFolder, place, installation: () => readInstallation(sql), limits: defaultLimits });
  opened.push(made);
  return made;
};

before(async () => {
  [database, s3] = await Promise.all([createTestDatabase(), startS3Server()]);
  sql = openSql({ url: database.url, name: 'test' });
  engineSql = openPostgres({ url: database.engineUrl, name: 'test mirror', schema: 'binding' });
  folder = await newFolder();
  routes = openRoutesPostgres(sql, keys, folder);
  store = storeOf(folder);
});
after(async () => {
  for (const { close } of opened) await close();
  await engineSql.close();
  await sql.end({ timeout: 1 });
  await s3.close();
  await database.close();
  for (const each of folders) rmSync(each, { recursive: true, force: true });
});

/** A machine with its mirror, and what it logs. */
interface Machine {
  readonly folder: string;
  readonly mirror: Mirror;
  readonly said: string[];
  file(name: string): string | null;
  figure(name: string): number;
  stop(): Promise<void>;
}

async function startMachine(
  at: string | null = null,
  given: { readonly store?: ArtifactStore; readonly sql?: Pick<Postgres, 'all'> } = {},
): Promise<Machine> {
  const own = at ?? (await newFolder());
  const stopping = new AbortController();
  const said: string[] = [];
  const say = (details: unknown, message?: string): void =>
    void said.push(message === undefined ? String(details) : `${message}: ${JSON.stringify(details)}`);
  const mirror = startMirror({
    folder: own,
    sql: given.sql ?? engineSql,
    store: given.store ?? storeOf(own),
    keys,
    log: { info: say, warn: say, error: say },
    stopping: stopping.signal,
  });
  const stop = async (): Promise<void> => {
    stopping.abort();
    await mirror.ended;
  };
  opened.push({ close: stop });
  return {
    folder: own,
    mirror,
    said,
    file(name) {
      const file = join(own, 'routes', name);
      return existsSync(file) ? readFileSync(file, 'utf8') : null;
    },
    figure: (name) => mirror.figures().find(([one]) => one === name)![2],
    stop,
  };
}

const make = async (text: string): Promise<string> =>
  (await deployInto(folder).make('shop', `export default { fetch: () => new Response(${JSON.stringify(text)}) };`)).id;
const idOf = (index: number): string => `d00000000000${index}`;
const recordOf = (project: string, artifacts: readonly string[], production: string | null): RouteRecord => ({
  version: 1,
  project,
  plan: 'free',
  vars: { SECRET: 'a value of shop' },
  domains: [],
  production,
  branches: {},
  deployments: Object.fromEntries(
    artifacts.map((artifact, index) => {
      const id = idOf(index);
      return [id, { id, artifact, branch: 'main', createdAt: `2026-11-0${index + 1}T00:00:00.000Z` }];
    }),
  ),
});

test('a machine gets records when their artifacts are there, changes, and deletions; sealed in between', async () => {
  const [first, second] = [await make('first'), await make('second')];
  await store.upload(first);
  await routes.replace(recordOf('shop', [first], idOf(0)));
  const machine = await startMachine();
  await machine.mirror.synced;
  assert.equal(machine.file('shop.json'), recordText(recordOf('shop', [first], idOf(0))));
  assert.ok(existsSync(join(machine.folder, 'artifacts', first, 'manifest.json')));
  assert.deepEqual(
    [await routes.hashOf('shop'), await routes.hashOf('none')].map((hash) => hash.length),
    [64, 0],
  );
  const [row] = await sql<{ sealed: Buffer }[]>`SELECT sealed FROM binding.route_file WHERE name = 'shop.json'`;
  assert.equal(row!.sealed.includes('a value of shop'), false);

  await store.upload(second);
  await routes.replace(recordOf('shop', [first, second], idOf(1)));
  await routes.leaveStorage({ version: 1, countedAt: 'now', until: 'then', organizations: [] });
  machine.mirror.wake();
  await until(() => machine.file('storage') !== null);
  await until(() => machine.file('shop.json') === recordText(recordOf('shop', [first, second], idOf(1))));
  assert.ok(existsSync(join(machine.folder, 'artifacts', second, 'manifest.json')));

  await routes.remove('shop');
  machine.mirror.wake();
  await until(() => machine.file('shop.json') === null);
  assert.deepEqual(readdirSync(join(machine.folder, 'routes')).toSorted(), ['mirror', 'storage']);
  assert.equal(await routes.hashOf('shop'), '');
  assert.deepEqual(machine.said, []);
  await machine.stop();
});

test('the account of engines reads sealed routes, and changes none', async () => {
  for (const change of [
    "INSERT INTO binding.route_file (name, seq) VALUES ('a.json', 1000)",
    'UPDATE binding.route_file SET mac = NULL, sealed = NULL',
    'DELETE FROM binding.route_file',
    "UPDATE binding.platform_id SET id = 'x'",
  ])
    await assert.rejects(engineSql.all(change), /permission denied|cannot update view/);
});

test('a record that a command left is unmanaged, until the API has written or deleted one of that name', async () => {
  const left = recordOf('local', [], null);
  replaceRoute(folder, left);
  assert.deepEqual(await routes.unmanaged('local'), left);
  await routes.replace(left);
  assert.equal(await routes.unmanaged('local'), null);
  await routes.remove('local');
  assert.equal(await routes.unmanaged('local'), null);
});

test('while the store is away a change waits, and another one of the same project is not held up by it', async () => {
  const [one, two] = [await make('one'), await make('two')];
  await store.upload(one);
  await routes.replace(recordOf('held', [one], idOf(0)));
  let isAway = false;
  const own = await newFolder();
  const good = storeOf(own);
  const fetch = (id: string): Promise<void> =>
    isAway
      ? Promise.reject(new Failure('artifact_store', 's3://files/ cannot be used: no route', { reason: 'away' }))
      : good.fetch(id);
  const machine = await startMachine(own, { store: { ...good, fetch } });
  await machine.mirror.synced;
  isAway = true;
  await store.upload(two);
  await routes.replace(recordOf('held', [one, two], idOf(1)));
  machine.mirror.wake();
  await until(() => machine.said.length > 0);
  assert.deepEqual(machine.said, [
    'Route file not copied: retrying: {"name":"held.json","reason":"s3://files/ cannot be used: no route"}',
  ]);
  assert.equal(machine.file('held.json'), recordText(recordOf('held', [one], idOf(0))));
  assert.equal(machine.figure('platform_routes_waiting'), 1);
  const changed = { ...recordOf('held', [one], idOf(0)), vars: { SECRET: 'another' } };
  await routes.replace(changed);
  machine.mirror.wake();
  await until(() => machine.file('held.json') === recordText(changed));
  await routes.replace(recordOf('held', [one, two], idOf(1)));
  machine.mirror.wake();
  await until(() => machine.said.length > 1);
  isAway = false;
  await until(() => machine.file('held.json') === recordText(recordOf('held', [one, two], idOf(1))));
  await machine.stop();
});

test('an artifact that the store does not have is reported, and the record is served without it', async () => {
  const [there, gone] = [await make('there'), 'ab'.repeat(32)];
  await store.upload(there);
  await routes.replace(recordOf('partial', [gone, there], idOf(1)));
  const machine = await startMachine();
  await machine.mirror.synced;
  assert.equal(machine.file('partial.json'), recordText(recordOf('partial', [gone, there], idOf(1))));
  assert.match(machine.said[0]!, /^Artifact could not be copied to this machine: its deployments answer 503: /);
  await machine.stop();
  await routes.remove('partial');
});

test('a restart with Postgres away keeps what is there, and says how old it is; it catches up when it is back', async () => {
  const id = await make('kept');
  await store.upload(id);
  await routes.replace(recordOf('kept', [id], idOf(0)));
  const machine = await startMachine();
  await machine.mirror.synced;
  await machine.stop();
  const { syncedAt } = JSON.parse(machine.file('mirror')!) as { syncedAt: string };
  let isAway = true;
  const all: Postgres['all'] = (...given) =>
    isAway ? Promise.reject(new Error('connect ECONNREFUSED')) : engineSql.all(...given);
  const again = await startMachine(machine.folder, { sql: { all } });
  assert.equal(await again.mirror.hadRoutes, true);
  await until(() => again.said.length > 0);
  assert.deepEqual(again.said, [
    `Routes cannot be updated: this machine serves the last known ones: ${JSON.stringify({ reason: 'connect ECONNREFUSED', asOf: syncedAt })}`,
  ]);
  assert.ok(again.figure('platform_routes_age_seconds') >= 0);
  assert.ok(again.file('kept.json') !== null);
  await routes.remove('kept');
  isAway = false;
  again.mirror.wake();
  await until(() => again.file('kept.json') === null);
  assert.equal(again.said.at(-1), 'Routes are updated again');
  await again.stop();
});

test('a database that was put back to an earlier state is compared as a whole', async () => {
  const [left, changed] = [recordOf('left', [], null), recordOf('changed', [], null)];
  await routes.replace(left);
  await routes.replace(changed);
  const machine = await startMachine();
  await machine.mirror.synced;
  // As a restore does: rows of before, with lower numbers.
  await sql`UPDATE binding.route_file SET seq = -seq`;
  await sql`UPDATE binding.route_file SET mac = NULL, sealed = NULL WHERE name = 'left.json'`;
  await routes.replace({ ...changed, vars: {} });
  machine.mirror.wake();
  await until(() => machine.file('changed.json') === recordText({ ...changed, vars: {} }));
  await until(() => machine.file('left.json') === null);
  await sql`UPDATE binding.route_file SET seq = -seq WHERE seq < 0`;
  await machine.stop();
});

test('a folder with the routes of another platform is refused, and nothing in it changes', async () => {
  const machine = await startMachine();
  await machine.mirror.synced;
  await machine.stop();
  const other = await createTestDatabase();
  const sqlOfOther = openPostgres({ url: other.engineUrl, name: 'test mirror', schema: 'binding' });
  const ownerOfOther = openSql({ url: other.url, name: 'test' });
  await ownerOfOther`UPDATE control.platform SET id = gen_random_uuid()`;
  const names = readdirSync(join(machine.folder, 'routes'));
  const again = await startMachine(machine.folder, { sql: sqlOfOther });
  await until(() => again.said.length > 0);
  assert.match(
    again.said[0]!,
    /has the routes of the platform [-0-9a-f]+, and the database is that of [-0-9a-f]+: set FS_PATH/,
  );
  assert.deepEqual(readdirSync(join(machine.folder, 'routes')), names);
  await again.stop();
  await sqlOfOther.close();
  await ownerOfOther.end({ timeout: 1 });
  await other.close();
});

test('routes that were sealed with another token are not written', async () => {
  await openRoutesPostgres(sql, routeKeysOf('another-token-of-tests-0123456789'), folder).replace(
    recordOf('foreign', [], null),
  );
  const machine = await startMachine();
  await until(() => machine.said.length > 0);
  assert.match(
    machine.said[0]!,
    /foreign\.json was sealed with another PRIVATE_PORT_TOKEN: set the same one on all machines/,
  );
  assert.equal(machine.file('foreign.json'), null);
  // The API writes it again with its own, as it does at its start.
  assert.deepEqual(await routes.outdated([recordOf('foreign', [], null)]), new Set(['foreign']));
  await routes.replace(recordOf('foreign', [], null));
  machine.mirror.wake();
  await machine.mirror.synced;
  assert.equal(machine.file('foreign.json'), recordText(recordOf('foreign', [], null)));
  await machine.stop();
});
