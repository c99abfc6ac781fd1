// mongodb's driver in workers, unmodified, against a stand-in of its wire: there is no MongoDB to install.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noClients, type TestServer } from '#test/setup/client-servers.ts';
import { startClients } from '#test/setup/client-workers.ts';
import { startMongoStandIn } from '#test/setup/mongo-stand-in.ts';

let server: TestServer;
let worker: Awaited<ReturnType<typeof startClients>>;

before(async () => {
  if (noClients !== false) return;
  server = await startMongoStandIn();
  worker = await startClients('mongodb');
});
after(async () => {
  await worker?.handler.close();
  await server?.close();
});

test('mongodb: connects, inserts and finds', { skip: noClients }, async () => {
  assert.deepEqual(await worker.asked(`/?port=${server.port}`), { insertedCount: 2, found: ['one'] });
});
