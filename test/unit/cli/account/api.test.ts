// Which platform a command is for and with which token, and what an error of the API means to the user.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { apiFailure, connect, dataOf, findAccess, openApi, originOf } from '#cli/account/api.ts';
import { saveLogin } from '#cli/account/credentials.ts';
import { recordFile } from '#cli/local/local-platform.ts';
import { recordingShell } from '../recording-shell.ts';

const login = { token: 'plt_login', login: 'ada', expiresAt: null };

function surroundings(t: TestContext, more: Record<string, string> = {}) {
  const home = mkdtempSync(path.join(tmpdir(), 'platform-home-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  return recordingShell('/', { PLATFORM_HOME: home, ...more });
}

/** Stands for the private port of a platform on this machine, and leaves its record. */
async function runsHere(t: TestContext, shell: ReturnType<typeof recordingShell>, folder: string, apiOrigin: string) {
  const server = createServer((_, response) => response.end(JSON.stringify({ pid: process.pid }))).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  t.after(() => server.close());
  const privateOrigin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const file = recordFile(shell, folder);
  mkdirSync(path.dirname(file), { recursive: true });
  const record = { version: 1, folder, pid: process.pid, port: 4001, domain: 'localhost', privateOrigin, token: 'x' };
  writeFileSync(file, JSON.stringify({ ...record, apiOrigin, apiToken: 'plt_machine' }));
}

test('without a login, a token or a platform here, it says what to do', async (t) => {
  await assert.rejects(openApi(surroundings(t)), { message: 'You are not logged in to a platform' });
  await assert.rejects(openApi(surroundings(t), { api: 'https://api.example' }), {
    message: 'You are not logged in to https://api.example',
    advice: 'Run `platform login --api https://api.example`, or set PLATFORM_API_TOKEN.',
  });
});

test('the last login is taken, and a platform that is named goes before it', async (t) => {
  const shell = surroundings(t);
  saveLogin(shell, 'https://one.example', { ...login, token: 'plt_one' });
  saveLogin(shell, 'https://two.example', login);
  assert.deepEqual(await findAccess(shell, {}), { origin: 'https://two.example', token: 'plt_login', source: 'login' });
  const named = await findAccess(shell, { api: 'one.example/' });
  assert.deepEqual(named, { origin: 'https://one.example', token: 'plt_one', source: 'login' });
});

test('PLATFORM_API_TOKEN goes before every other token', async (t) => {
  const shell = surroundings(t, { PLATFORM_API_TOKEN: 'plt_variable' });
  assert.deepEqual(await findAccess(shell, {}), {
    origin: 'http://localhost:4002',
    token: 'plt_variable',
    source: 'variable',
  });
  saveLogin(shell, 'https://two.example', login);
  const found = await findAccess(shell, {});
  assert.deepEqual(found, { origin: 'https://two.example', token: 'plt_variable', source: 'variable' });
});

test('a platform of this machine needs no login', async (t) => {
  const shell = surroundings(t);
  await runsHere(t, shell, '/srv/one', 'http://localhost:4002');
  const machine = { origin: 'http://localhost:4002', token: 'plt_machine', source: 'machine' };
  assert.deepEqual(await findAccess(shell, {}), machine);
  saveLogin(shell, 'https://two.example', login);
  assert.equal((await findAccess(shell, {})).source, 'login');
  const inFolder = recordingShell('/', { ...shell.env, FS_PATH: '/srv/one' });
  assert.deepEqual(await findAccess(inFolder, {}), machine);
});

test('of two platforms on this machine, one has to be named', async (t) => {
  const shell = surroundings(t);
  await runsHere(t, shell, '/srv/one', 'http://localhost:4002');
  await runsHere(t, shell, '/srv/two', 'http://localhost:4102');
  await assert.rejects(findAccess(shell, {}), { message: 'More than one platform runs on this machine' });
  assert.equal((await findAccess(shell, { api: 'http://localhost:4102' })).origin, 'http://localhost:4102');
});

test('an address becomes an origin, and what is none is refused', () => {
  assert.equal(originOf('api.example.com'), 'https://api.example.com');
  assert.equal(originOf('localhost:4002'), 'http://localhost:4002');
  assert.equal(originOf('https://example.com/api/'), 'https://example.com/api');
  for (const text of ['', 'ftp://x', 'https://user:pass@x', 'https://'])
    assert.throws(() => originOf(text), /Invalid API URL/);
});

test('the token goes to no other origin, and is in no error', async (t) => {
  let reached = 0;
  const other = createServer((_, response) => response.end(String(++reached))).listen(0, '127.0.0.1');
  const server = createServer((_, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:${(other.address() as AddressInfo).port}/` }).end();
  }).listen(0, '127.0.0.1');
  await Promise.all([once(server, 'listening'), once(other, 'listening')]);
  t.after(() => (server.close(), other.close()));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await assert.rejects(connect({ origin, token: 'plt_secret', source: 'login' }).fetch('/user'), (error: Error) => {
    assert.match(error.message, /is not a platform API: it redirects to/);
    assert.doesNotMatch(JSON.stringify(error) + error.message, /plt_secret/);
    return true;
  });
  assert.equal(reached, 0);
});

test('an error of the API becomes one with what to do', () => {
  const answer = (status: number, headers = {}) => new Response(null, { status, headers });
  const unauthorized = apiFailure(answer(401), { message: 'Sign in', code: 'unauthorized', requestId: 'r1' });
  assert.deepEqual([unauthorized.message, unauthorized.advice], ['Sign in', 'Log in again: `platform login`.']);
  assert.equal(apiFailure(answer(500), { message: 'No', requestId: 'r1' }).requestId, 'r1');
  assert.equal(apiFailure(answer(429, { 'retry-after': '7' }), {}).advice, 'Wait 7 seconds.');
  assert.equal(apiFailure(answer(502), 'a page').message, 'The platform returned status 502');
  assert.equal(dataOf({ ok: true, data: 7, response: answer(200) } as const), 7);
});
