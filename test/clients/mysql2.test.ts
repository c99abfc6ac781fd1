// mysql2 in workers, unmodified, against a real MariaDB.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noClients, noMariaDb, startMariaDb, type TestServer } from '#test/setup/client-servers.ts';
import { startClients } from '#test/setup/client-workers.ts';
import { makeCertificate } from '#test/setup/smtp-server.ts';

const skip = noMariaDb || noClients;
let server: TestServer;
let worker: Awaited<ReturnType<typeof startClients>>;
const certificate = makeCertificate();

before(async () => {
  if (skip) return;
  server = await startMariaDb(certificate);
  worker = await startClients('mysql2', { CA: certificate.cert });
});
after(async () => {
  await worker?.handler.close();
  await server?.close();
});

for (const tls of [false, true])
  test(`mysql2${tls ? ' with TLS' : ''}: queries, transactions, prepared statements`, { skip }, async () => {
    assert.deepEqual(await worker.asked(`/?port=${server.port}${tls ? '&tls' : ''}`), {
      rows: ['one', 'two'],
      secure: tls,
      big: 2_000_000,
      failed: 'ER_BAD_FIELD_ERROR',
    });
  });

test('mysql2: a pool, and a wrong password', { skip }, async () => {
  assert.deepEqual(await worker.asked(`/pool?port=${server.port}`), [0, 1, 2, 3, 4]);
  assert.equal(await worker.asked(`/wrong?port=${server.port}`), 'ER_ACCESS_DENIED_ERROR');
});
