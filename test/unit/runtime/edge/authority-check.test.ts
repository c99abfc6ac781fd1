// Whether the authority answers, in time, with what it says when not. The authority is a server of the test.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createAuthorityCheck } from '#runtime/edge/authority-check.ts';

test('an authority that takes connections and says nothing is given up after its time, by one look for all', async () => {
  const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  try {
    const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}/directory`;
    let at = 0;
    const check = createAuthorityCheck({ url, email: null, rootFile: null }, 50, () => at);
    const first = check();
    assert.equal(await first, `The authority does not answer: nothing came for 50 ms (${url})`);
    at = 4999;
    assert.equal(check(), first);
    at = 5000;
    assert.notEqual(check(), first);
    await check();
  } finally {
    silent.close();
  }
});

test('one that refuses connections, and a root file that is away, are named', async () => {
  const acme = { url: 'https://127.0.0.1:1/directory', email: null, rootFile: null };
  assert.equal(
    await createAuthorityCheck(acme, 5000)(),
    'The authority does not answer: ECONNREFUSED (https://127.0.0.1:1/directory)',
  );
  assert.match((await createAuthorityCheck({ ...acme, rootFile: '/none.pem' }, 5000)()) ?? '', /ENOENT/);
});

test('an answer that was had before is not taken where a new one is asked for; one under way is', async () => {
  let asked = 0;
  const server = createServer((socket) => {
    asked++;
    socket.on('error', () => {}).destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/directory`;
    const check = createAuthorityCheck({ url, email: null, rootFile: null }, 5000, () => 0);
    await Promise.all([check(), check('afresh')]);
    assert.equal(asked, 1);
    await check();
    assert.equal(asked, 1);
    await check('afresh');
    assert.equal(asked, 2);
  } finally {
    server.close();
  }
});
