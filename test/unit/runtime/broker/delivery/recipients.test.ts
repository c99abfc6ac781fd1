// Who gets an event as route records change, and what is declared of queues and schedules in the namespaces of
// branches.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import type { DeploymentRecord, Manifest } from '#core/manifest.ts';
import { createRecipients, type Recipients } from '#runtime/broker/delivery/recipients.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import { routeRecord } from '#test/setup/route-record.ts';

type Declares = Pick<Manifest, 'bindings' | 'cron' | 'queues' | 'previews'>;

const deployment = (id: string, branch: string): DeploymentRecord => ({
  id,
  artifact: id,
  branch,
  createdAt: '2026-11-21T00:00:00Z',
});

async function withRecipients(
  manifests: Readonly<Record<string, Declares>>,
  run: (recipients: Recipients, stores: EventStores, troubles: string[]) => Promise<void>,
): Promise<void> {
  const stores = openEventsSqlite({ file: ':memory:', limits: defaultLimits.delivery });
  const troubles: string[] = [];
  const recipients = createRecipients({
    cron: stores.cron,
    lanes: stores.queue.lanes,
    manifestOf(artifact) {
      const manifest = manifests[artifact];
      if (manifest === undefined) throw new Error(`no ${artifact}`);
      return manifest;
    },
    now: Date.now,
    onTrouble: (project, error) => troubles.push(`${project}: ${error.message}`),
  });
  try {
    await run(recipients, stores, troubles);
  } finally {
    await stores.close();
  }
}

const hourly = { hourly: { schedule: '0 * * * *', timezone: 'UTC' } };
const plain: Declares = { bindings: { queue: { MAIL: 'mail' } }, cron: hourly };
const main = deployment('d1', 'main');
const login = deployment('d2', 'login');

test('a message goes to production or to the newest deployment of its branch, by the namespace it lies in', async () => {
  await withRecipients({ d1: plain, d2: plain, d3: plain }, async ({ resolve, update }) => {
    const to = (namespace: string, branch: string): string | null =>
      resolve({ kind: 'queue', namespace, resource: 'mail', project: 'shop', branch });
    assert.equal(to('shop', 'main'), null);
    await update([routeRecord('d1', main, login)]);
    assert.deepEqual([to('shop', 'main'), to('shop~~login', 'login'), to('shop~~gone', 'gone')], ['d1', 'd2', null]);
    await update([routeRecord('d1', main, login, deployment('d3', 'login'))]);
    assert.equal(to('shop~~login', 'login'), 'd3');
    await update([]);
    assert.equal(to('shop', 'main'), null);
  });
});

test('what the settings of previews hold back waits, and schedules run where they say so', async () => {
  const quiet: Declares = { ...plain, previews: { queue: 'off', timer: 'off', cron: 'on' } };
  await withRecipients({ d1: quiet, d2: quiet, d3: plain }, async ({ resolve, update }, { cron }) => {
    const to = (kind: 'queue' | 'timer' | 'cron', namespace: string, branch: string): string | null =>
      resolve({ kind, namespace, resource: 'mail', project: 'shop', branch });
    const scheduled = async (): Promise<number> =>
      (await cron.list({ namespace: 'shop~~login', resource: 'shop' })).length;
    await update([routeRecord('d1', main, login)]);
    assert.deepEqual(
      [to('queue', 'shop', 'main'), to('timer', 'shop', 'main'), to('cron', 'shop', 'main')],
      ['d1', 'd1', 'd1'],
    );
    assert.deepEqual(
      [to('queue', 'shop~~login', 'login'), to('timer', 'shop~~login', 'login'), to('cron', 'shop~~login', 'login')],
      [null, null, 'd2'],
    );
    assert.equal(await scheduled(), 1);
    await update([routeRecord('d1', main, login, deployment('d3', 'login'))]);
    assert.deepEqual(
      [to('queue', 'shop~~login', 'login'), to('timer', 'shop~~login', 'login'), to('cron', 'shop~~login', 'login')],
      ['d3', 'd3', null],
    );
    assert.equal(await scheduled(), 0);
  });
});

test('a run of a preview goes on with its deployment, and waits while that works on what production has', async () => {
  await withRecipients({ d1: plain, d2: plain, d3: plain }, async ({ resolve, update }) => {
    const to = (namespace: string, started: string): string | null =>
      resolve({
        kind: 'workflow',
        namespace,
        resource: 'order',
        project: 'shop',
        branch: 'login',
        deployment: started,
      });
    await update([routeRecord('d1', main, login, deployment('d3', 'login'))]);
    assert.deepEqual(
      [to('shop~~login', 'd2'), to('shop', 'd1'), to('shop', 'd9'), to('shop', 'd2')],
      ['d2', 'd1', null, null],
    );
    await update([routeRecord('d3', main, login, deployment('d3', 'login'))]);
    assert.deepEqual([to('shop~~login', 'd2'), to('shop', 'd2')], [null, 'd2']);
  });
});

test('schedules are those of production alone', async () => {
  await withRecipients({ d1: { bindings: {}, cron: {} }, d2: plain }, async ({ update }, { cron }) => {
    await update([routeRecord('d1', main, login)]);
    for (const namespace of ['shop', 'shop~~login'])
      for (const resource of ['shop', 'shop~~login']) assert.deepEqual(await cron.list({ namespace, resource }), []);
    await update([routeRecord('d2', main, login)]);
    assert.deepEqual(
      (await cron.list({ namespace: 'shop', resource: 'shop' })).map(({ name }) => name),
      ['hourly'],
    );
    await update([]);
    assert.deepEqual(await cron.list({ namespace: 'shop', resource: 'shop' }), []);
  });
});

test('what a branch says of its queues holds in its own namespace, and only what differs has a lane before something is sent', async () => {
  const queues = { mail: { maxRetries: 9, deadLetter: 'lost' }, jobs: { maxConcurrency: 2 } };
  const preview: Declares = {
    bindings: { queue: { MAIL: 'mail', JOBS: 'jobs', LOST: 'lost', OTHER: 'other' } },
    cron: {},
    queues,
  };
  await withRecipients({ d1: plain, d2: preview, d3: plain }, async (recipients, { queue }) => {
    await recipients.update([routeRecord('d1', main, login)]);
    assert.deepEqual([recipients.queues('shop'), recipients.queues('shop~~login')], [{}, queues]);
    const there = async (namespace: string): Promise<string[]> => {
      const names = await Promise.all(
        ['mail', 'jobs', 'lost', 'other'].map(async (name) =>
          (await queue.lanes.find(namespace, name)) ? [name] : [],
        ),
      );
      return names.flat();
    };
    assert.deepEqual([await there('shop'), await there('shop~~login')], [['mail'], ['jobs', 'lost']]);
    await recipients.update([routeRecord('d1', main, login, deployment('d3', 'login'))]);
    assert.deepEqual(recipients.queues('shop~~login'), {});
    await recipients.update([routeRecord('d1', main)]);
    assert.deepEqual(recipients.queues('shop~~login'), {});
  });
});

test('what a preview says wrong stops nobody else, and is tried again', async () => {
  const manifests: Record<string, Declares> = { d1: plain };
  await withRecipients(manifests, async ({ update, queues }, _stores, troubles) => {
    await update([routeRecord('d1', main, login)]);
    assert.deepEqual(troubles, ['shop: no d2']);
    manifests['d2'] = { ...plain, queues: { mail: { maxRetries: 1 } } };
    await update([routeRecord('d1', main, login)]);
    assert.deepEqual([troubles.length, queues('shop~~login')], [1, { mail: { maxRetries: 1 } }]);
  });
});
