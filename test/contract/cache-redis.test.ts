// The cache over a real Redis server, where this machine has one; CI installs it.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pass } from 'node:timers/promises';
import { openCacheRedis } from '#runtime/stores/cache-redis.ts';
import { testCacheStore } from './cache-store.ts';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const isThere = spawnSync('redis-server', ['--version']).status === 0;

if (isThere) {
  testCacheStore('redis', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'platform-redis-'));
    const port = await freePort();
    const server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise<void>((resolve) => {
      server.stdout.on('data', (text: Buffer) => {
        if (text.includes('Ready to accept connections')) resolve();
      });
    });
    const store = await openCacheRedis(`redis://127.0.0.1:${port}`, () => {});
    return {
      store,
      // Redis has a clock of its own.
      pass,
      async close() {
        await store.close();
        const exited = once(server, 'exit');
        server.kill();
        await exited;
        await rm(folder, { recursive: true });
      },
    };
  });
} else {
  test('redis: the suite of caches', { skip: 'there is no redis-server on this machine; CI installs it' }, () => {});
}
