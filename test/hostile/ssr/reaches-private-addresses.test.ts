import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { openHostileServer } from '#test/setup/hostile-server.ts';
import { serverFenceMissing, testsUnless } from '#test/setup/needs.ts';

const { test } = testsUnless(await serverFenceMissing());

/** Addresses of this machine that are not the loopback's: a server outside of its fence would reach them. */
const own = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .filter(({ internal, family }) => !internal && family === 'IPv4');

test('a server reaches nothing on this machine or in its network, by no way that Node has', async (t) => {
  let visits = 0;
  const victim = createServer((_, response) => {
    visits++;
    response.end('reached');
  }).listen(0, '0.0.0.0');
  t.after(() => victim.close());
  await once(victim, 'listening');
  const { port } = victim.address() as AddressInfo;
  const { platform, run } = await openHostileServer(t);
  const targets: (readonly [string, number])[] = [
    ['127.0.0.1', port],
    ['localhost', port],
    ['127.0.0.1', platform.privatePort],
    ['127.0.0.1', platform.port],
    ['10.0.0.1', 80],
    ['169.254.169.254', 80],
    ['::1', port],
    ['::ffff:127.0.0.1', port],
    ...own.map(({ address }) => [address, port] as const),
  ];
  for (const [host, at] of targets) {
    const url = JSON.stringify(`http://${host.includes(':') ? `[${host}]` : host}:${at}/`);
    const ways: Record<string, string> = {
      fetch: `return (await fetch(${url})).text();`,
      http: `return await new Promise((resolve, reject) => http.get(${url}, (a) => resolve(a.statusCode)).on('error', reject));`,
      net: `return await new Promise((resolve, reject) => net.connect(${at}, '${host}', () => resolve('connected')).on('error', reject));`,
      'a child without the preload': `return await new Promise((resolve) => child_process.execFile(process.execPath,
        ['-e', "require('net').connect(${at}, '${host}', () => console.log('connected')).on('error', (e) => console.log('refused'))"],
        { env: {} }, (error, out) => resolve(out.trim())));`,
    };
    for (const [way, code] of Object.entries(ways)) {
      const said = await run(code);
      const isRefused = said === 'refused' || typeof (said as { error?: unknown } | null)?.error === 'string';
      assert.ok(isRefused, `${way} to ${host}:${at}: ${JSON.stringify(said)}`);
    }
  }
  assert.equal(visits, 0);
});

test('what a server asks of the way out itself is under the same policy', async (t) => {
  const { run } = await openHostileServer(t);
  const ask = (question: string): Promise<unknown> =>
    run(`return await new Promise((resolve, reject) => {
      let text = '';
      net.connect({ path: process.env.PLATFORM_SERVER_FOLDER + '/doors/egress.sock' })
        .on('error', reject).on('data', (chunk) => (text += chunk)).on('end', () => resolve(text)).write(${JSON.stringify(question)});
    });`);
  assert.match(String(await ask('connect 127.0.0.1 8081\n')), /^EACCES /);
  assert.match(String(await ask('connect ::ffff:10.0.0.1 80\n')), /^EACCES /);
  assert.match(String(await ask('connect 0x7f000001 80\n')), /^(?:EACCES|ENOTFOUND) /);
  assert.match(String(await ask('lookup 192.168.0.1\n')), /^ENOTFOUND /);
  assert.match(String(await ask('connect example.org 0\n')), /^EINVAL /);
});

test('a private address is reached where the operator allows it, by each of these ways', async (t) => {
  const [address] = own;
  if (address === undefined) return t.skip('this machine has no network');
  const victim = createServer((_, response) => response.end('reached')).listen(0, '0.0.0.0');
  t.after(() => victim.close());
  await once(victim, 'listening');
  const { port } = victim.address() as AddressInfo;
  const { run } = await openHostileServer(t, { WORKER_EGRESS_ALLOW: 'loopback,private' });
  const url = JSON.stringify(`http://${address.address}:${port}/`);
  assert.equal(await run(`return (await fetch(${url})).text();`), 'reached');
  assert.equal(
    await run(
      `return await new Promise((resolve, reject) => http.get(${url}, (a) => a.on('data', (d) => resolve(String(d)))).on('error', reject));`,
    ),
    'reached',
  );
});
