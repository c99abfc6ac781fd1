// Messages of transactions outlive kill -9 of an engine between the commit and the queue: every committed message
// comes, and none is in its queue twice. test/engines/outbox.test.ts kills engines and services of a whole platform.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import { startDatabases, type TestDatabases } from '#test/setup/databases.ts';
import { openOutbox } from '#test/setup/outbox.ts';

const limits = defaultLimits.delivery;

let folder: string;
let databases: TestDatabases;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
  databases = await startDatabases();
});
after(async () => {
  await databases.close();
  await rm(folder, { recursive: true, force: true });
});

for (const where of ['before', 'after']) {
  test(`an engine that is killed ${where} the queue has the message loses and doubles nothing`, async () => {
    const file = join(folder, `${where}.sqlite`);
    const script = join(import.meta.dirname, '../setup/outbox-engine.ts');
    const engine = fork(script, [databases.service.socketPath, file, where], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    await once(engine.stdout!, 'data');
    engine.kill('SIGKILL');
    await once(engine, 'exit');
    const events = openEventsSqlite({ file, limits });
    const outbox = openOutbox(databases.client, events, limits);
    const mail = { namespace: 'shop', resource: 'mail' };
    const payloads = async (): Promise<string[]> =>
      (await events.queue.list(mail, { limit: 10, after: 0 })).messages.map(({ payload }) => payload);
    assert.deepEqual(await payloads(), where === 'before' ? [] : ['"after"']);
    await outbox.sweep(true);
    assert.deepEqual(await payloads(), [`"${where}"`]);
    await outbox.sweep(true);
    assert.deepEqual(await payloads(), [`"${where}"`]);
    await outbox.close();
    await events.close();
  });
}
