import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHostileServer } from '#test/setup/hostile-server.ts';
import { serverFenceMissing, testsUnless } from '#test/setup/needs.ts';
import { until } from '#test/setup/until.ts';

const { test } = testsUnless(await serverFenceMissing());

test('a server that puts a link to a socket of the machine in the place of its own leads nobody there', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'victim-'));
  let visits = 0;
  const victim = createServer((_, response) => {
    visits++;
    response.end('reached');
  }).listen(join(folder, 'victim.sock'));
  t.after(() => {
    victim.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { platform, run } = await openHostileServer(t, { SSR_IDLE_MS: '3600000' });
  const swap = `
    const own = process.env.PLATFORM_SERVER_FOLDER + '/own/';
    fs.rmSync(own + 'http.sock');
    fs.symlinkSync(${JSON.stringify(join(folder, 'victim.sock'))}, own + 'http.sock');
    return fs.readlinkSync(own + 'http.sock');`;
  assert.equal(await run(swap), join(folder, 'victim.sock'));
  // The way that is open leads where it led; another engine has to look anew.
  assert.equal((await platform.fetch('bad')).text, 'hello from a server');
  const { engines } = await platform.state();
  await platform.recycle(engines.find(({ role }) => role === 'serving')!.id);
  await until(async () => (await platform.fetch('bad')).status === 503);
  // The server that did it is ended, and another one takes its place.
  await platform.answers('bad', 'hello from a server');
  assert.equal(visits, 0);
});

test('a server cannot put anything where the platform makes its sockets', async (t) => {
  const { run } = await openHostileServer(t);
  for (const name of ['egress.sock', 'calls.sock', 'out-1.sock'])
    assert.deepEqual(
      await run(`fs.symlinkSync('/etc/passwd', process.env.PLATFORM_SERVER_FOLDER + '/doors/${name}x');`),
      { error: 'EROFS' },
    );
});
