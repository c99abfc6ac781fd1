import assert from 'node:assert/strict';
import { openHostileServer } from '#test/setup/hostile-server.ts';
import { serverFenceMissing, testsUnless } from '#test/setup/needs.ts';

const { test } = testsUnless(await serverFenceMissing());

const WRITE = `
  const folder = process.env.PLATFORM_SERVER_FOLDER + '/own/';
  for (let at = 0; at < 4; at++) fs.writeFileSync(folder + at, Buffer.alloc(1_000_000));
  return 'written';`;

test('a server that writes beside its socket is ended, and what it wrote goes with it', async (t) => {
  const { platform, run } = await openHostileServer(t);
  const before = (await platform.fetch('bad', '/pid')).text;
  assert.match(before, /^\d+$/);
  await run(WRITE).catch(() => 'it was ended meanwhile');
  const { msg } = await platform.logged((line) => /wrote to the folder of its socket/.test(String(line.msg)));
  assert.match(String(msg), /only \/tmp is for files \(SSR_TMP_MAX_BYTES\)/);
  await platform.answers('bad', 'hello from a server');
  const left = await run(`return fs.readdirSync(process.env.PLATFORM_SERVER_FOLDER + '/own');`);
  assert.deepEqual(left, ['http.sock']);
  assert.equal((await platform.fetch('good')).status, 200);
});

test('a file that a server writes is no larger than twice what it may have in /tmp', async (t) => {
  const { run } = await openHostileServer(t, { SSR_TMP_MAX_BYTES: '1000000' });
  const code = `
    process.on('SIGXFSZ', () => {});
    fs.writeFileSync(process.env.PLATFORM_SERVER_FOLDER + '/own/large', Buffer.alloc(4_000_000));`;
  const said = await run(code).catch(() => ({ error: 'EFBIG' }));
  assert.deepEqual(said, { error: 'EFBIG' });
});
