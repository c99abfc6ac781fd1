// What an organization keeps is counted, shown, and bounded by its plan: the stores of an engine and a database service
// on the data folder of a control plane, with the real count between them.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { countStorage } from '#control/storage/count.ts';
import { followStorage } from '#control/storage/follow.ts';
import { publishStorageLeft } from '#control/storage/left.ts';
import { openEngineStores, type EngineStores } from '#runtime/engine/process/stores.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { query, startDatabases, type TestDatabases } from '#test/setup/databases.ts';
import { until } from '#test/setup/until.ts';

const LIMIT = 1_500_000;
const TEXT = 'The storage of this organization would exceed 1500000 bytes';
const refused = { code: 'quota_exceeded', message: TEXT };
const write = { headers: {}, metadata: {}, onlyIf: null, digests: {}, bytesMax: 10_000_000 };
const owner = (project: string) => ({ project, branch: 'main', deployment: 'dpl_1', binding: 'B' });

let control: TestControl;
let databases: TestDatabases;
let engine: EngineStores;
let neighbour: string;
const ids: Record<string, string> = {};

before(async () => {
  let folder = '';
  control = await startControl({
    privatePort: { ask: async () => ({ status: 200, body: (await engine.kept()) as never }) },
    storage: {
      limits: { ...defaultLimits.storage, bytesMaxFree: LIMIT, diskSharedBytes: 0 },
      diskFreeBytesMin: 0,
      isPostgresLocal: true,
    },
  });
  ({ folder } = control.deps);
  mkdirSync(path.join(folder, 'databases'));
  databases = await startDatabases({}, { directory: path.join(folder, 'databases'), dataFolder: folder });
  engine = await openEngineStores({
    environment: {
      ENGINE_DATABASE_URL: control.databaseUrl,
      DB_SERVICE_SOCKETS: path.dirname(databases.service.socketPath),
    },
    folder,
    limits: defaultLimits,
    work: null as never,
    protocol: 'http',
    publicPort: null,
    trustedProxies: [],
    edgeToken: '',
    log: () => {},
  });
  neighbour = await control.organization('globex');
  const there = await control.account('grace', { [neighbour]: 'owner' });
  for (const [name, organizationId, token] of [
    ['shop', control.organizationId, control.owner.token],
    ['blog', control.organizationId, control.owner.token],
    ['mail', control.organizationId, control.owner.token],
    ['next', neighbour, there.token],
  ] as const)
    ids[name] = (await control.call('POST', '/projects', { name, organizationId }, token)).body.id;
});
after(async () => {
  engine.close();
  await databases.close();
  await control.close();
});

const put = (project: string, key: string, bytes: number): Promise<unknown> =>
  engine.stores.files!.put({ namespace: project, resource: 'pics' }, key, Buffer.alloc(bytes), write);
const remember = async (project: string, key: string, bytes: number): Promise<void> => {
  const record = { value: Buffer.alloc(bytes), metadata: null, expiresAt: null };
  await engine.stores.state!.put({ namespace: project, resource: 'kv' }, key, record, Date.now());
};
const send = async (project: string, id: string, bytes: number): Promise<unknown> =>
  engine.stores.events!.queue.send(
    { namespace: project, resource: 'jobs' },
    owner(project),
    [{ id, payload: 'x'.repeat(bytes), dueAt: Date.now(), dedupeId: null, orderingKey: null }],
    Date.now(),
  );
const set = async (project: string, id: string, bytes: number): Promise<void> => {
  const timer = { id, dueAt: 8e15, payload: 'x'.repeat(bytes), intervalMs: null, cron: null, timezone: null };
  await engine.stores.events!.timer.set({ namespace: project, resource: 'later' }, owner(project), timer, Date.now());
};
const run = async (project: string, id: string, bytes: number): Promise<void> => {
  const input = 'x'.repeat(bytes);
  await engine.stores.events!.workflow.trigger(
    { namespace: project, resource: 'flow' },
    owner(project),
    { id, input },
    Date.now(),
  );
};
const sql = (project: string, text: string): Promise<unknown> =>
  query(databases.client, text, [], { namespace: project, resource: 'main' });
async function count(): Promise<void> {
  assert.deepEqual(await countStorage(control.deps), []);
  await publishStorageLeft(control.deps, 3_600_000);
}
let files = 0;
/**
 * Engines look at what is left once a second. A new file each time: an engine that reads the count between a write and
 * its replacement believes that the replacement freed space, and would accept the same write for ever.
 */
const untilRefused = (bytes: number): Promise<unknown> =>
  until(() =>
    put('shop', `more-${files++}`, bytes).then(
      () => false,
      (error: unknown) => error,
    ),
  );
const untilTaken = (work: () => Promise<unknown>): Promise<unknown> =>
  until(() =>
    work().then(
      () => true,
      () => false,
    ),
  );
const archive = { branch: 'main', bytes: 1000, sha256: 'a'.repeat(64) };

test('what was written is counted by kind and by project, and everybody of the organization sees it', async () => {
  await put('shop', 'large', 900_000);
  await put('shop', 'small', 1000);
  await remember('blog', 'key', 300_000);
  await send('mail', 'm1', 100_000);
  await set('mail', 't1', 5000);
  await run('mail', 'r1', 7000);
  await sql('shop', 'CREATE TABLE t (a)');
  // It grows for a moment only, so that a look at whether it may grow leaves nothing behind.
  await sql('shop', 'CREATE TABLE tried (a)');
  await sql('shop', "CREATE TRIGGER try AFTER INSERT ON tried BEGIN SELECT RAISE(ABORT, 'it may grow'); END");
  await sql('shop', 'INSERT INTO t VALUES (zeroblob(200000))');
  await control.sql`
    INSERT INTO control.telemetry_hour (project_id, hour, bytes) VALUES (${ids['shop']!}, now(), 12345)`;
  const artifact = 'c'.repeat(64);
  mkdirSync(path.join(control.deps.folder, 'artifacts', artifact), { recursive: true });
  writeFileSync(path.join(control.deps.folder, 'artifacts', artifact, 'worker.js'), Buffer.alloc(40_960, 1));
  await control.sql`
    INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, source, artifact)
    VALUES ('dpl_1', ${ids['blog']!}, ${control.organizationId}, 'success', 'production', 'main', 'upload', ${artifact})`;
  await control.sql`
    INSERT INTO sandbox.sandbox (key, project, resource, id, provider, state, options)
    VALUES ('k1', 'mail', '.snapshots.work', 's1', 'container', 'stopped', '{"taken": {"of": "a", "sizeBytes": 4096}}')`;
  await control.sql`
    INSERT INTO sandbox.sandbox (key, project, resource, id, provider, state, disk_bytes)
    VALUES ('k2', 'mail', 'work', 'a', 'container', 'running', 10000),
      ('k3', 'mail~~next', 'work', 'b', 'container', 'stopped', 500), ('k4', 'mail', 'work', 'c', 'hosted', 'running', NULL)`;
  await put('next', 'theirs', 4000);
  await count();
  const folder = path.join(databases.directory, 'shop');
  const ofDatabases = readdirSync(folder).reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0);
  assert.ok(ofDatabases > 200_000);
  const { status, body } = await control.call('GET', `/orgs/${control.organizationId}/storage`);
  assert.equal(status, 200);
  const { projects, countedAt, kinds, bytes, ...rest } = body;
  assert.deepEqual(rest, { plan: 'free', limitBytes: 1_500_000, isFull: true });
  assert.ok(Date.parse(countedAt) <= Date.now());
  const artifacts = kinds.find(({ kind }: { kind: string }) => kind === 'artifacts').bytes;
  // As the disk has it: with its folder, in whole blocks.
  assert.ok(artifacts >= 40_960 && artifacts < 81_920, String(artifacts));
  const shown = Object.fromEntries(
    projects.map((project: { name: string; kinds: unknown[] }) => [project.name, project.kinds]),
  );
  assert.deepEqual(shown, {
    shop: [
      { kind: 'files', bytes: 903_018 },
      { kind: 'databases', bytes: ofDatabases },
      { kind: 'logs', bytes: 12_345 },
    ],
    blog: [
      { kind: 'state', bytes: 300_103 },
      { kind: 'artifacts', bytes: artifacts },
    ],
    mail: [
      { kind: 'queues', bytes: 100_100 },
      { kind: 'sandboxes', bytes: 14_596 },
      { kind: 'workflows', bytes: 12_200 },
    ],
  });
  assert.equal(bytes, 903_018 + ofDatabases + 12_345 + 300_103 + artifacts + 100_100 + 12_200 + 14_596);
  const viewer = await control.account('vera', { [control.organizationId]: 'viewer' });
  assert.equal(
    (await control.call('GET', `/orgs/${control.organizationId}/storage`, undefined, viewer.token)).status,
    200,
  );
  const stranger = await control.account('sid', { [neighbour]: 'viewer' });
  assert.equal(
    (await control.call('GET', `/orgs/${control.organizationId}/storage`, undefined, stranger.token)).status,
    404,
  );
});

test('a full organization writes nothing of any kind, reads and deletes, and its neighbour writes', async () => {
  const error = await untilRefused(1);
  assert.deepEqual(String(error), `PlatformError: ${TEXT}`);
  await assert.rejects(remember('blog', 'more', 1), refused);
  await assert.rejects(send('mail', 'm2', 1), refused);
  await assert.rejects(set('mail', 't2', 1), refused);
  await assert.rejects(run('mail', 'r2', 1), refused);
  const mayNotGrow = async (): Promise<boolean> =>
    ((await sql('shop', 'INSERT INTO tried VALUES (zeroblob(500000))')) as string[])[0] === 'SQLITE_FULL';
  await until(mayNotGrow);
  assert.deepEqual(await sql('shop', 'INSERT INTO t VALUES (zeroblob(500000))'), ['SQLITE_FULL', TEXT]);
  const upload = await control.call('POST', `/projects/${ids['shop']}/uploads`, archive);
  assert.equal(upload.status, 409);
  assert.equal(upload.body.code, 'storage_full');
  const { bytes } = (await control.call('GET', `/orgs/${control.organizationId}/storage`)).body;
  assert.equal(
    upload.body.message,
    `The organization stores ${bytes} bytes, and its plan free allows 1500000: delete unused data (the Usage page lists the largest items), or ask the operator for a larger plan. Deletions count within minutes`,
  );
  await put('next', 'more', 4000);
  await remember('next', 'key', 1000);
  await send('next', 'm1', 1000);
  assert.deepEqual(await sql('next', 'CREATE TABLE t AS SELECT zeroblob(100000) AS a'), []);
  assert.equal((await engine.stores.files!.head({ namespace: 'shop', resource: 'pics' }, 'small'))?.size, 1000);
  assert.deepEqual(await sql('shop', 'SELECT count(*) > 0 FROM t'), [[1]]);
  assert.deepEqual(await sql('shop', 'UPDATE t SET a = 1'), []);
  await engine.stores.files!.delete({ namespace: 'shop', resource: 'pics' }, ['large']);
  await engine.stores.state!.delete({ namespace: 'blog', resource: 'kv' }, 'key');
});

test('after deleting and a new count it writes again', async () => {
  await count();
  await untilTaken(() => remember('blog', 'more', 1));
  await put('shop', 'more', 1);
  await send('mail', 'm2', 1);
  const upload = await control.call('POST', `/projects/${ids['shop']}/uploads`, archive);
  assert.equal(upload.status, 201);
  // What is written counts at once, without a count.
  await assert.rejects(put('shop', 'again', LIMIT), refused);
});

test('a repository is counted with its project, also after the project was disconnected from it', async () => {
  const repository = path.join(control.deps.folder, 'repositories', 'rep_1.git');
  mkdirSync(repository, { recursive: true });
  writeFileSync(path.join(repository, 'pack'), Buffer.alloc(81_920, 1));
  await control.sql`
    INSERT INTO control.repository (id, organization_id, source, full_name, url)
    VALUES ('rep_1', ${neighbour}, 'builtin', 'next', '/git/next.git')`;
  const counted = async (): Promise<string[]> => {
    await count();
    const rows = await control.sql<{ id: string; bytes: number }[]>`
      SELECT project_id AS id, bytes FROM control.storage WHERE kind = 'repositories'`;
    return rows.filter(({ bytes }) => bytes >= 81_920 && bytes < 122_880).map(({ id }) => id);
  };
  await control.sql`UPDATE control.project SET repository_id = 'rep_1' WHERE id = ${ids['next']!}`;
  assert.deepEqual(await counted(), [ids['next']]);
  await control.sql`UPDATE control.project SET repository_id = NULL WHERE id = ${ids['next']!}`;
  assert.deepEqual(await counted(), [ids['next']]);
});

test('what engines cannot say at the moment stays as it was counted last, and the count says so', async () => {
  const kinds = async (): Promise<unknown> =>
    (await control.call('GET', `/orgs/${control.organizationId}/storage`)).body.kinds;
  await count();
  const before = await kinds();
  const away = { ...control.deps, privatePort: { ask: async () => ({ status: 503, body: {} as never }) } };
  assert.deepEqual(await countStorage(away), ['no engine answers what files and databases keep']);
  assert.deepEqual(await kinds(), before);
  assert.deepEqual(await countStorage(control.deps), []);
});

test('after a restart what was counted a moment ago is published, and not counted again', async () => {
  const follow = async (): Promise<number> => {
    let counts = 0;
    const stopping = new AbortController();
    const ask = async (): Promise<{ status: number; body: never }> => ({
      status: 200,
      body: (counts++, await engine.kept()) as never,
    });
    const published = path.join(control.deps.folder, 'routes', 'storage');
    rmSync(published);
    const following = followStorage({ ...control.deps, privatePort: { ask }, stopping: stopping.signal });
    await until(() => existsSync(published));
    stopping.abort();
    await following;
    return counts;
  };
  await count();
  assert.equal(await follow(), 0);
  await control.sql`UPDATE control.storage SET counted_at = counted_at - interval '1 minute'`;
  assert.equal(await follow(), 1);
});

test('a larger plan takes effect without a count', async () => {
  await untilRefused(LIMIT - 1);
  const boss = await control.account('boss');
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${boss.accountId}`;
  control.deps.background('Counting storage', () => followStorage(control.deps));
  const at = `/orgs/${control.organizationId}/plan`;
  assert.equal((await control.call('PUT', at, { plan: 'enterprise' }, boss.token)).status, 200);
  await untilTaken(() => put('shop', 'more', LIMIT - 1));
  const { body } = await control.call('GET', `/orgs/${control.organizationId}/storage`);
  assert.deepEqual([body.plan, body.limitBytes, body.isFull], ['enterprise', null, false]);
  const { body: plans } = await control.call('GET', '/plans');
  assert.deepEqual(
    plans.items.map(({ id, storageBytes }: { id: string; storageBytes: number | null }) => [id, storageBytes]),
    [
      ['free', 1_500_000],
      ['pro', 1_099_511_627_776],
      ['enterprise', null],
    ],
  );
});
