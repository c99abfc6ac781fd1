// Servers of ssr projects in a supervisor of their own (`PLATFORM_PARTS=servers`), as a container has them: handlers
// reach them by sockets in a folder that both share.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { nodeFlags } from '#core/node-flags.mjs';
import { serverFenceMissing, testsUnless } from '#test/setup/needs.ts';
import { startPlatform } from '#test/setup/platform.ts';
import { bindingCall, runningApp } from '#test/setup/hostile-server.ts';
import { SSR } from '#test/setup/ssr-app.ts';
import { until } from '#test/setup/until.ts';

const { test } = testsUnless(await serverFenceMissing());

async function sharedFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'platform-ssr-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function startServers(t: TestContext, data: string, sockets: string): { stop: () => Promise<void> } {
  const child: ChildProcess = fork(join(import.meta.dirname, '../../runtime/supervisor/main.ts'), {
    execArgv: [...nodeFlags],
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      PLATFORM_FENCE: process.env['PLATFORM_FENCE'],
      FS_PATH: data,
      PLATFORM_PARTS: 'servers',
      SSR_SOCKETS_DIR: sockets,
      HANDLER_PRIVATE_PORT: '0',
    },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  t.after(stop);
  return { stop };
}

test('a handler reaches servers of another supervisor, and they their bindings', async (t) => {
  const sockets = await sharedFolder(t);
  const platform = await startPlatform({}, { SSR_SOCKETS_DIR: sockets });
  t.after(() => platform.close());
  startServers(t, platform.folder, sockets);
  await platform.deploy('app', '', `${SSR}cache:\n  KV: pages\n`, runningApp());
  await platform.answers('app', 'hello from a server');
  const { services } = await platform.state();
  assert.equal(
    services.find(({ name }) => name === 'ssr'),
    undefined,
  );

  const said = async (code: string): Promise<string> =>
    (await platform.fetch('app', '/run', { method: 'POST', body: code })).text;
  assert.match(await said(bindingCall('KV', 'set', 'key', 'kept')), /^"200 /);
  assert.equal(await said(bindingCall('KV', 'get', 'key')), '"200 {\\"result\\":\\"kept\\"}"');
});

test('what an engine leaves in the shared folder when it is killed is removed', async (t) => {
  const sockets = await sharedFolder(t);
  const platform = await startPlatform({}, { SSR_SOCKETS_DIR: sockets, HANDLER_SPARES: '0' });
  t.after(() => platform.close());
  startServers(t, platform.folder, sockets);
  await platform.deploy('app', '', SSR, runningApp());
  await platform.answers('app', 'hello from a server');
  const calls = async (): Promise<string[]> => (await readdir(sockets)).filter((name) => name.startsWith('calls-'));
  const before = await calls();
  assert.equal(before.length, 1);
  process.kill(platform.enginePid, 'SIGKILL');
  await until(async () => !(await calls()).includes(before[0]!));
  await platform.answers('app', 'hello from a server');
});
