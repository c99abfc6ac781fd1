// ioredis and redis in workers, unmodified, against a real Redis.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noClients } from '#test/setup/client-servers.ts';
import { startClients } from '#test/setup/client-workers.ts';
import { noRedis, startRedis } from '#test/setup/redis.ts';

const skip = noRedis || noClients;
let server: Awaited<ReturnType<typeof startRedis>>;
let worker: Awaited<ReturnType<typeof startClients>>;

before(async () => {
  if (skip) return;
  server = await startRedis();
  worker = await startClients('redis');
});
after(async () => {
  await worker?.handler.close();
  await server?.close();
});

test('ioredis: commands, pipelines, transactions, messages', { skip }, async () => {
  assert.deepEqual(await worker.asked(`/ioredis?port=${server.port}`), {
    greeting: 'hello',
    piped: [1, 2],
    multi: ['OK', '1'],
    heard: ['news', 'hello'],
    big: 2_000_000,
    failed: 'ERR unknown command',
  });
});

test('redis: commands, transactions, messages', { skip }, async () => {
  assert.deepEqual(await worker.asked(`/redis?port=${server.port}`), {
    greeting: 'hello',
    multi: ['OK', 2, '2'],
    heard: 'hello',
  });
});
