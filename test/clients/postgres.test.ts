// pg and postgres in workers, unmodified, against the embedded Postgres.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { startPostgresOnTcp, type TestPostgres } from '#test/setup/client-servers.ts';
import { startClients } from '#test/setup/client-workers.ts';
import { makeCertificate } from '#test/setup/smtp-server.ts';

let server: TestPostgres;
let worker: Awaited<ReturnType<typeof startClients>>;
const certificate = makeCertificate();
const trusted = getCACertificates('default');

before(async () => {
  // The build of postgres for workers takes no authority of its own.
  setDefaultCACertificates([...trusted, certificate.cert]);
  server = await startPostgresOnTcp(certificate);
  const { user, password, database } = server;
  const vars = { PG_USER: user, PG_PASSWORD: password, PG_DATABASE: database, PG_CA: certificate.cert };
  worker = await startClients('postgres', vars);
});
after(async () => {
  setDefaultCACertificates(trusted);
  await worker.handler.close();
  await server.close();
});

for (const tls of [false, true])
  test(`pg${tls ? ' with TLS' : ''}: queries, transactions, prepared statements, LISTEN and NOTIFY`, async () => {
    assert.deepEqual(await worker.asked(`/pg?port=${server.port}${tls ? '&tls' : ''}`), {
      sum: 42,
      kept: ['one', 'two'],
      prepared: ['one', 'two'],
      failed: '42703',
      news: ['news', 'hello'],
      big: 3_000_000,
      secure: tls,
    });
  });

test('pg: a pool serves more queries than it has connections', async () => {
  assert.deepEqual(await worker.asked(`/pg-pool?port=${server.port}`), [0, 1, 2, 3, 4, 5, 6, 7]);
});

test('pg: a wrong password and a server that is not there are errors', async () => {
  assert.equal(await worker.asked('/pg-wrong?port=1'), 'ECONNREFUSED');
  assert.equal(await worker.asked(`/pg-wrong?port=${server.port}`), '28P01');
});

for (const tls of [false, true])
  test(`postgres${tls ? ' with TLS' : ''}: queries, transactions, cursors, LISTEN and NOTIFY`, async () => {
    assert.deepEqual(await worker.asked(`/postgres?port=${server.port}${tls ? '&tls' : ''}`), {
      sum: 42,
      names: ['Ada', 'Alan'],
      failed: '42703',
      news: 'hello',
      cursor: [2, 2, 1],
    });
  });

test('a server that cuts its connections is reached again', async () => {
  server.cut();
  assert.deepEqual(await worker.asked(`/pg-pool?port=${server.port}`), [0, 1, 2, 3, 4, 5, 6, 7]);
});
