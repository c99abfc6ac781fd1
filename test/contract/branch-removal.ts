// What the removal of a branch or a project keeps to over each technology: everything that its bindings wrote is gone,
// and nothing else. Written through the bindings themselves, so that it follows their names; databases and files are
// real ones.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { databaseOps } from '#core/database-request.ts';
import { defaultLimits, type DeliveryLimits } from '#core/limits.ts';
import { ofPreview } from '#core/preview.ts';
import { objectPlace } from '#core/object-address.ts';
import { BUILD_RESOURCE } from '#core/sandbox/operations.ts';
import { usersResource } from '#runtime/engine/bindings/auth.ts';
import { createBindingCalls } from '#runtime/engine/kinds/calls.ts';
import type { BranchStores } from '#runtime/engine/bindings/bindings.ts';
import { removeBranch } from '#runtime/engine/kinds/branch-removal.ts';
import { removeProject } from '#runtime/engine/kinds/project-removal.ts';
import { createSandboxRemoval } from '#runtime/engine/bindings/sandbox-removal.ts';
import { createSandboxTransport, type SandboxTransport } from '#runtime/engine/bindings/sandbox-transport.ts';
import type { StateStore } from '#runtime/engine/bindings/state.ts';
import { freeOwner } from '#runtime/engine/bridge/free-owner.ts';
import type { CallScope, HostFunction } from '#runtime/engine/bridge/host-calls.ts';
import { createMemoryCache } from '#runtime/stores/cache-memory.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import { openFilesDisk } from '#runtime/stores/files-disk.ts';
import { openSandboxClient } from '#core/sandbox/service-client.ts';
import { startDatabases, type TestDatabases } from '#test/setup/databases.ts';
import { startTestSandboxService, type TestSandboxService } from '#test/setup/sandbox-service.ts';

const bindings = {
  db: { DB: 'main' },
  state: { KV: 'main' },
  fs: { FILES: 'main' },
  queue: { MAIL: 'mail' },
  timer: { CLOCK: 'clock' },
  workflow: { ORDER: 'order' },
  sandbox: { BOX: 'boxes' },
};

/** Registers the suite's tests. */
export function branchRemovalContract(
  open: (limits: DeliveryLimits) => Promise<{ stores: EventStores; state: StateStore; close(): Promise<void> }>,
): void {
  let databases: TestDatabases;
  let opened: Awaited<ReturnType<typeof open>>;
  let folder = '';
  let fs: ReturnType<typeof openFilesDisk>;
  let service: TestSandboxService;
  let transport: SandboxTransport;
  before(async () => {
    databases = await startDatabases();
    opened = await open(defaultLimits.delivery);
    folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
    fs = openFilesDisk(folder);
    service = await startTestSandboxService();
    const { url, token } = service.address;
    transport = createSandboxTransport({ origin: url, token });
  });
  after(async () => {
    await transport.close();
    await service.close();
    fs.close();
    await opened.close();
    await databases.close();
    await rm(folder, { recursive: true });
  });

  const contents = async (): Promise<number> =>
    (await readdir(join(folder, 'content'), { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
      .length;

  /** The calls of a preview, or of production. */
  function callsOf(
    branch: string,
    preview: string | null,
    project = 'shop',
  ): (name: string, args: object, ...parts: (string | Uint8Array)[]) => Promise<unknown> {
    const { stores, state } = opened;
    const calls = createBindingCalls(
      { namespace: project, project, branch, deployment: 'd1', preview },
      { bindings },
      { database: databases.client, state, files: fs, events: { ...stores, limits: defaultLimits.delivery } },
      { signUrl: null, cache: createMemoryCache({ bytesMax: 1000 }), cacheEntryBytesMax: 1000 },
    );
    const isolate = { hasRoom: () => true } as unknown as CallScope;
    const { signal } = new AbortController();
    return async (name, args, ...parts) => {
      const reply = await (calls[name] as HostFunction)({
        args,
        parts,
        owner: freeOwner,
        signal,
        isDropped: false,
        drop() {},
        isolate,
      });
      return (
        reply.value ?? reply.parts?.map((part) => (typeof part === 'string' ? part : Buffer.from(part).toString()))
      );
    };
  }

  async function fill(call: ReturnType<typeof callsOf>): Promise<void> {
    await call(
      'database.run',
      { binding: 'DB', op: databaseOps.exec },
      JSON.stringify(['CREATE TABLE t (a); INSERT INTO t VALUES (1)']),
    );
    await call('state.put', { binding: 'KV', key: 'a' }, 'kept');
    await call('state.put', { binding: 'KV', key: 'old', expiresAt: Date.now() + 60_000 }, 'kept');
    await call('files.put', { binding: 'FILES', key: 'a' }, 'kept');
    const upload = await call('files.createUpload', { binding: 'FILES', key: 'b' });
    await call('files.putPart', { binding: 'FILES', key: 'b', upload, part: 1 }, 'part');
    await call('queue.send', { binding: 'MAIL', messages: [{ dedupeId: 'one' }] }, '1');
    await call('timer.set', { binding: 'CLOCK', id: 'a', afterMs: 60_000 });
    await call('workflow.trigger', { binding: 'ORDER', id: 'a', input: null });
  }

  async function kept(call: ReturnType<typeof callsOf>): Promise<unknown[]> {
    const { keys } = (await call('state.list', { binding: 'KV' })) as { keys: { name: string }[] };
    const { files } = (await call('files.list', { binding: 'FILES' })) as { files: { key: string }[] };
    const { backlogCount } = (await call('queue.metrics', { binding: 'MAIL' })) as { backlogCount: number };
    const { timers } = (await call('timer.list', { binding: 'CLOCK' })) as { timers: unknown[] };
    const { executions } = (await call('workflow.list', { binding: 'ORDER' })) as { executions: unknown[] };
    return [keys.map(({ name }) => name), files.map(({ key }) => key), backlogCount, timers.length, executions.length];
  }
  const all = [['a', 'old'], ['a'], 1, 1, 1];
  const nothing = [[], [], 0, 0, 0];
  const databasesOf = async (namespace: string): Promise<string[]> =>
    (await readdir(join(databases.directory, namespace)).catch(() => []))
      .filter((name) => name.endsWith('.sqlite'))
      .toSorted();

  test('what a removed branch had is gone; production and branches beside it keep theirs', async () => {
    const production = callsOf('main', null);
    const login = callsOf('login', 'login');
    const beside = callsOf('log', 'log');
    for (const call of [production, login, beside]) await fill(call);
    await opened.stores.outboxes.touch({ namespace: 'shop', resource: ofPreview('main', 'login') }, 1, 2);
    const users = { namespace: ofPreview('shop', 'login'), resource: usersResource };
    await databases.client.run(users, databaseOps.exec, 0, JSON.stringify(['CREATE TABLE u (a)']));
    assert.deepEqual(await databasesOf('shop~~login'), ['auth~users.sqlite']);
    const objects = ['login', 'log', null].map((preview) => objectPlace('shop', preview, 'a'.repeat(64)));
    for (const place of objects)
      await databases.client.run(place, databaseOps.exec, 0, JSON.stringify(['CREATE TABLE visits (n)']));
    assert.equal(await contents(), 6);
    const client = openSandboxClient(service.address);
    const places = [
      { project: 'shop', resource: 'boxes', id: 'kept' },
      { project: 'shop', resource: 'boxes~~login', id: 'one' },
      { project: 'shop', resource: 'boxes~~login', id: 'two' },
      { project: 'shop', resource: 'boxes~~log', id: 'kept' },
      { project: 'shop', resource: BUILD_RESOURCE, id: 'login' },
      { project: 'shop', resource: BUILD_RESOURCE, id: 'main' },
    ];
    for (const place of places) await client.call(place, 'resume');

    const stores: BranchStores = {
      databases: databases.client,
      state: opened.state,
      files: fs,
      events: opened.stores,
      sandboxes: createSandboxRemoval(transport),
    };
    const removed = {
      project: 'shop',
      branch: 'login',
      bindings: [bindings, {}, { db: { OLD: 'main', NEVER: 'never' } }],
    };
    assert.deepEqual(await removeBranch(stores, removed), {
      databases: 2,
      stateKeys: 2,
      files: 1,
      messages: 1,
      timers: 1,
      runs: 1,
      sandboxes: 2,
      objects: 1,
    });
    assert.deepEqual(await kept(login), nothing);
    assert.deepEqual(await kept(production), all);
    assert.deepEqual(await kept(beside), all);
    assert.deepEqual(await databasesOf('shop'), ['main.sqlite', 'main~~log.sqlite']);
    assert.deepEqual(await databasesOf('shop~~login'), []);
    const left = await Promise.all(objects.map(({ namespace }) => databasesOf(namespace)));
    assert.deepEqual(
      left.map(({ length }) => length),
      [0, 1, 1],
    );
    const infos = await Promise.all(places.map((place) => client.info(place)));
    assert.deepEqual(
      infos.map((info) => info !== null),
      [true, false, false, true, false, true],
    );
    assert.deepEqual(await opened.stores.outboxes.due(Date.now() * 2, 0, 10), []);
    assert.equal(await contents(), 4);

    // Once more is no error, and the branch may come back: with nothing, and under the same names.
    assert.deepEqual(await removeBranch(stores, removed), {
      databases: 0,
      stateKeys: 0,
      files: 0,
      messages: 0,
      timers: 0,
      runs: 0,
      sandboxes: 0,
      objects: 0,
    });
    await fill(login);
    assert.deepEqual(await kept(login), all);
  });

  test('a branch with sandboxes waits for a service that is away, others do not', async () => {
    await service.goAway();
    const stores = { databases: null, state: null, files: null, events: null };
    const remove = (own: Record<string, Record<string, string>>) =>
      removeBranch(
        { ...stores, sandboxes: createSandboxRemoval(transport) },
        { project: 'shop', branch: 'away', bindings: [own] },
      );
    await assert.rejects(remove(bindings), { code: 'fetch_failed' });
    assert.equal((await remove({})).sandboxes, 0);
    await service.comeBack();
    assert.equal((await remove(bindings)).sandboxes, 0);
  });

  test('what a deleted project and its previews had is gone; a project whose name begins alike keeps its data', async () => {
    const own = [callsOf('main', null, 'till'), callsOf('login', 'login', 'till'), callsOf('old', 'old', 'till')];
    const beside = callsOf('main', null, 'till-2');
    for (const call of [...own, beside]) await fill(call);
    const users = { namespace: ofPreview('till', 'login'), resource: usersResource };
    await databases.client.run(users, databaseOps.exec, 0, JSON.stringify(['CREATE TABLE u (a)']));
    await databases.client.branch({ namespace: 'till', resource: 'main' }, 'main~at~one');
    await opened.stores.outboxes.touch({ namespace: 'till', resource: 'main' }, 1, 2);
    const aside = join(databases.directory, 'till', 'main.sqlite.corrupt-2026-01-01');
    await writeFile(aside, 'damaged');
    const stores = { databases: databases.client, state: opened.state, files: fs, events: opened.stores };
    const removed = { project: 'till', branches: ['login'], databases: ['main'] };
    assert.deepEqual(await removeProject(stores, removed), {
      databases: 5,
      stateKeys: 6,
      files: 3,
      messages: 3,
      timers: 3,
      runs: 3,
    });
    for (const call of own) assert.deepEqual(await kept(call), nothing);
    assert.deepEqual(await kept(beside), all);
    assert.deepEqual(await databasesOf('till'), []);
    assert.equal(existsSync(aside), false);
    assert.deepEqual(await databasesOf('till-2'), ['main.sqlite']);
    assert.deepEqual(await opened.stores.outboxes.due(Date.now() * 2, 0, 10), []);
    const nothingLeft = { databases: 0, stateKeys: 0, files: 0, messages: 0, timers: 0, runs: 0 };
    assert.deepEqual(await removeProject(stores, removed), nothingLeft);
    await fill(own[0]!);
    assert.deepEqual(await kept(own[0]!), all);
  });

  test('databases that cannot be listed are deleted by the names that deployments declared', async () => {
    const asked: string[] = [];
    const cloud = {
      kept: async () => null,
      list: () => Promise.reject(new Error('not in a managed cloud')),
      sweep: () => Promise.reject(new Error('not in a managed cloud')),
      remove: async ({ namespace, resource }: { namespace: string; resource: string }) =>
        asked.push(`${namespace}/${resource}`) > 0,
    };
    const stores = { databases: cloud, state: null, files: null, events: null };
    const removed = { project: 'till', branches: ['login'], databases: ['main'] };
    assert.equal((await removeProject(stores, removed)).databases, 4);
    assert.deepEqual(asked, ['till/main', `till/${usersResource}`, 'till/main~~login', `till~~login/${usersResource}`]);
  });

  test('where there is no store of a kind, the others are cleared', async () => {
    const call = callsOf('other', 'other');
    await fill(call);
    await removeBranch(
      { databases: null, state: opened.state, files: null, events: null, sandboxes: null },
      { project: 'shop', branch: 'other', bindings: [bindings] },
    );
    assert.deepEqual(await kept(call), [[], ['a'], 1, 1, 1]);
  });
}
