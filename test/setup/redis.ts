// A real Redis server for tests, where this machine has one; CI installs it.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

/** False, or why a test that needs one cannot run. */
export const noRedis =
  spawnSync('redis-server', ['--version']).status === 0
    ? false
    : 'there is no redis-server on this machine; CI installs it';

/** Starts one on a free port of this machine. */
export async function startRedis(options: readonly string[] = []): Promise<{ port: number; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'platform-redis-'));
  const port = await freePort();
  const server = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder, ...options],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  await new Promise<void>((resolve) => {
    server.stdout.on('data', (text: Buffer) => {
      if (text.includes('Ready to accept connections')) resolve();
    });
  });
  return {
    port,
    async close() {
      const exited = once(server, 'exit');
      server.kill();
      await exited;
      await rm(folder, { recursive: true });
    },
  };
}
