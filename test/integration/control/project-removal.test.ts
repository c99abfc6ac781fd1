// The data of a deleted project: kept for a while, and removed at once for those who may. The stores of an engine and a
// database service on the data folder of a control plane, with the real count between them.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { followDataRemovals } from '#control/releases/project-removal.ts';
import { countStorage } from '#control/storage/count.ts';
import { followStorage } from '#control/storage/follow.ts';
import { publishStorageLeft } from '#control/storage/left.ts';
import { removeProject, type RemovedProject } from '#runtime/engine/kinds/project-removal.ts';
import { openEngineStores, type EngineStores } from '#runtime/engine/process/stores.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { query, startDatabases, type TestDatabases } from '#test/setup/databases.ts';
import { until } from '#test/setup/until.ts';

const LIMIT = 1_500_000;
const write = { headers: {}, metadata: {}, onlyIf: null, digests: {}, bytesMax: 10_000_000 };

let control: TestControl;
let databases: TestDatabases;
let engine: EngineStores;
let dies = false;
const asked: string[] = [];
before(async () => {
  const answers: Readonly<Record<string, (asked: never) => Promise<object>>> = {
    storage: () => engine.kept(),
    check: async () => ({ routed: true }),
    async 'remove-project'(removed: RemovedProject) {
      asked.push(removed.project);
      // It has removed a part, and its answer is lost.
      if (dies) await removeProject({ ...engine.branchStores, databases: null }, removed);
      if (dies) throw new Error('socket hang up');
      return { removed: await removeProject({ ...engine.branchStores, databases: databases.client }, removed) };
    },
  };
  const ask = async (at: string, body: unknown): Promise<{ status: number; body: never }> => ({
    status: 200,
    body: (await answers[path.basename(at)]!(body as never)) as never,
  });
  control = await startControl({
    privatePort: { ask },
    storage: {
      limits: { ...defaultLimits.storage, bytesMaxFree: LIMIT, diskSharedBytes: 0 },
      diskFreeBytesMin: 0,
      isPostgresLocal: true,
    },
  });
  const { folder } = control.deps;
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
});
after(async () => {
  engine.close();
  await databases.close();
  await control.close();
});

const put = (project: string, key: string, bytes: number): Promise<unknown> =>
  engine.stores.files!.put({ namespace: project, resource: 'pics' }, key, Buffer.alloc(bytes), write);
const sql = (project: string, text: string): Promise<unknown> =>
  query(databases.client, text, [], { namespace: project, resource: 'main' });
const create = (name: string) => control.call('POST', '/projects', { name, organizationId: control.organizationId });
const remove = async (name: string): Promise<void> => {
  const [row] = await control.sql<{ id: string }[]>`
    SELECT id FROM control.project WHERE name = ${name} AND deleted_at IS NULL`;
  assert.equal((await control.call('DELETE', `/projects/${row!.id}?name=${name}`)).status, 204);
};
const removeData = (name: string, token?: string, organization = control.organizationId) =>
  control.call('DELETE', `/orgs/${organization}/storage/${name}`, undefined, token);
const storage = async () => (await control.call('GET', `/orgs/${control.organizationId}/storage`)).body;
const keyOf = (project: string, key: string) =>
  engine.stores.files!.head({ namespace: project, resource: 'pics' }, key);
async function count(): Promise<void> {
  assert.deepEqual(await countStorage(control.deps), []);
  await publishStorageLeft(control.deps, 3_600_000);
}
/** What the API process runs, until the work is done. */
async function whileRunning(work: () => Promise<void>): Promise<void> {
  const stopping = new AbortController();
  const deps = { ...control.deps, stopping: stopping.signal };
  const running = [followDataRemovals(deps), followStorage(deps)];
  try {
    await work();
  } finally {
    stopping.abort();
    await Promise.all(running);
  }
}

test('a full organization deletes a project, removes its data at once, and writes again', async () => {
  for (const name of ['shop', 'blog']) assert.equal((await create(name)).status, 201);
  await put('shop', 'large', 1_400_000);
  await sql('shop', 'CREATE TABLE t (a)');
  await sql('shop', 'INSERT INTO t VALUES (zeroblob(200000))');
  await count();
  // A new file each time: an engine that reads the count between a write and its replacement believes that the
  // replacement freed space, and would accept the same write for ever.
  let tries = 0;
  const isRefused = (): Promise<boolean> =>
    put('blog', `new-${tries++}`, 1000).then(
      () => false,
      () => true,
    );
  await until(isRefused);
  await remove('shop');
  await count();
  assert.equal((await storage()).isFull, true);
  await whileRunning(async () => {
    const answer = await removeData('shop');
    const { projectId, ...body } = answer.body;
    assert.deepEqual([answer.status, body], [202, { name: 'shop', state: 'removing' }]);
    await until(async () => !(await isRefused()));
    const again = await until(async () => {
      const { body: found } = await removeData('shop');
      return found.state === 'removed' && found;
    });
    assert.deepEqual(again, { projectId, name: 'shop', state: 'removed' });
    // The process publishes what is left once it hears of the removal.
    await until(async () => !(await storage()).isFull);
  });
  assert.equal(await keyOf('shop', 'large'), null);
  const { projects } = await storage();
  assert.equal(
    projects.some(({ name }: { name: string }) => name === 'shop'),
    false,
  );
  const rows = await control.sql<{ action: string; actor_kind: string; details: object }[]>`
    SELECT action, actor_kind, details FROM control.audit_event WHERE action LIKE 'project.data.%' ORDER BY seq`;
  const counts = { databases: 1, stateKeys: 0, files: 1, messages: 0, timers: 0, runs: 0 };
  assert.deepEqual(
    rows.map(({ action, actor_kind: actor, details }) => [action, actor, (details as { files?: number }).files]),
    [
      ['project.data.delete', 'token', undefined],
      ['project.data.remove', 'system', counts.files],
    ],
  );
});

test('only owners and admins remove data, only that of their organization, and only of deleted projects', async () => {
  await create('till');
  assert.deepEqual(
    [(await removeData('till')).status, (await removeData('till')).body.message],
    [409, 'till is not deleted'],
  );
  await remove('till');
  const elsewhere = await control.organization('elsewhere');
  const eve = await control.account('eve', { [elsewhere]: 'owner' });
  const mia = await control.account('mia', { [control.organizationId]: 'member' });
  assert.equal((await removeData('till', eve.token)).status, 404);
  assert.equal((await removeData('till', eve.token, elsewhere)).status, 404);
  assert.equal((await removeData('till', mia.token)).status, 403);
  assert.equal((await removeData('never')).status, 404);
  assert.equal((await removeData('%00')).status, 404);
  const ann = await control.account('ann', { [control.organizationId]: 'admin' });
  assert.equal((await removeData('till', ann.token)).status, 202);
});

test('a removal that ended midway is finished by the next process, and blocks the name until then', async () => {
  await create('cut');
  await put('cut', 'a', 1000);
  await sql('cut', 'CREATE TABLE t (a)');
  await remove('cut');
  await removeData('cut');
  dies = true;
  await whileRunning(() => until(() => asked.includes('cut')).then(() => {}));
  dies = false;
  assert.equal(await keyOf('cut', 'a'), null);
  assert.ok(((await engine.kept()).databases ?? {})['cut']! > 0);
  const busy = await create('cut');
  assert.deepEqual(
    [busy.status, busy.body.message],
    [409, 'The data of the deleted project cut is being removed: try again later'],
  );
  await whileRunning(async () => void (await until(async () => (await removeData('cut')).body.state === 'removed')));
  assert.equal(((await engine.kept()).databases ?? {})['cut'], undefined);
  assert.equal((await create('cut')).status, 201);
});

test('data is kept for 30 days, and goes to a new project of the same name meanwhile', async () => {
  await create('back');
  await put('back', 'a', 1000);
  await remove('back');
  await count();
  const [found] = (await storage()).projects.filter(({ name }: { name: string }) => name === 'back');
  const days = (Date.parse(found.dataDueAt) - Date.now()) / 86_400_000;
  assert.ok(days > 29.9 && days <= 30, String(days));
  assert.equal((await create('back')).status, 201);
  await remove('back');
  await control.sql`
    UPDATE control.project SET data_due_at = now() - interval '1 second' WHERE name = 'back' AND data_due_at IS NOT NULL`;
  await whileRunning(async () => void (await until(async () => (await removeData('back')).body.state === 'removed')));
  assert.equal(await keyOf('back', 'a'), null);
  const rows = await control.sql`
    SELECT FROM control.audit_event WHERE action = 'project.data.remove' AND details->>'name' = 'back'`;
  assert.equal(rows.length, 1);
});

test('a project of the same name keeps the data that it took over', async () => {
  await create('heir');
  await put('heir', 'a', 1000);
  await remove('heir');
  await create('heir');
  await control.sql`UPDATE control.project SET data_due_at = data_due_at - interval '31 days' WHERE name = 'heir'`;
  await create('mark');
  await remove('mark');
  await removeData('mark');
  await whileRunning(async () => void (await until(async () => (await removeData('mark')).body.state === 'removed')));
  assert.equal((await keyOf('heir', 'a'))?.size, 1000);
});
