// An app of packages/worker in a real isolate, behind a real socket: what the in-process tests cannot see.
import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;
const json = { 'content-type': 'application/json' };

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const keyServer = createServer((_request, response) => {
  const key = { ...keys.publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' };
  response.end(JSON.stringify({ keys: [key] }));
});

before(async () => {
  await once(keyServer.listen(0, '127.0.0.1'), 'listening');
  handler = await startHandler({
    app: {
      files: {},
      folder: join(import.meta.dirname, '../fixtures/apps/framework'),
      yaml: 'kind: dynamic\n',
      vars: { NAME: 'Ada', KEYS: `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/` },
    },
  });
});
after(async () => {
  await handler.close();
  keyServer.close();
});

test('requests are checked, answers trimmed, and the client is known', async () => {
  assert.deepEqual((await handler.fetch('app', '/')).json(), { hello: 'Ada', ip: '127.0.0.1' });
  const user = await handler.fetch('app', '/users/7?tag=a');
  assert.deepEqual(
    [user.json(), user.headers['content-type']],
    [{ id: 7, name: 'Ada', tags: ['a'] }, 'application/json'],
  );
  const wrong = await handler.fetch('app', '/users/x');
  assert.deepEqual([wrong.status, (wrong.json() as { error: string }).error], [400, 'Validation failed']);
  const made = await handler.fetch('app', '/users', {
    method: 'POST',
    headers: json,
    body: '{"name":"Grace","admin":true}',
  });
  assert.deepEqual([made.status, made.json()], [201, { id: 2, name: 'Grace' }]);
});

test('bad requests are answered by the letter through the socket too', async () => {
  const asks: [string, string, Parameters<TestHandler['fetch']>[2], number][] = [
    ['app', '/users', { method: 'POST', headers: json, body: '{' }, 400],
    ['app', '/users', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' }, 415],
    ['app', '/users', { method: 'POST', headers: json, body: `{"name":"${'x'.repeat(2000)}"}` }, 413],
    ['app', '/users', { method: 'POST', headers: json, body: '{"__proto__":{"a":1}}' }, 400],
    ['app', '/users/%zz', {}, 400],
    ['app', '/users', { method: 'DELETE' }, 405],
    ['app', '/users', { method: 'OPTIONS' }, 204],
    ['app', '/nowhere', {}, 404],
    ['app', '/gone', {}, 410],
    ['app', '/broken', {}, 500],
    ['app', '/wrong', {}, 500],
  ];
  for (const [project, path, options, status] of asks)
    assert.equal((await handler.fetch(project, path, options)).status, status, path);
  await handler.logged('app', /broken on purpose/);
  await handler.logged('app', /GET \/wrong: .*id/);
  await handler.logged('app', /^POST \/users 413 _ ms$/);
});

test('a body in chunks that never declares its length is cut off at the limit', async () => {
  const sent = request({
    host: '127.0.0.1',
    port: handler.port,
    path: '/users',
    method: 'POST',
    headers: { ...json, host: 'app.localhost' },
  });
  const answered = new Promise<number>((resolve, reject) => {
    sent.on('response', (response) => (response.resume(), resolve(response.statusCode ?? 0)));
    sent.on('error', reject);
  });
  sent.write('{"name":"');
  for (let at = 0; at < 20; at++) sent.write('x'.repeat(100));
  assert.equal(await answered, 413);
  sent.destroy();
});

test('HEAD has the headers and no body, streams arrive, waitUntil goes on', async () => {
  const head = await handler.fetch('app', '/users/7', { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers['content-type'], head.text], [200, 'application/json', '']);
  const whole = await handler.fetch('app', '/users/7');
  assert.equal(head.headers['content-length'], String(Buffer.byteLength(whole.text)));
  assert.equal((await handler.fetch('app', '/stream')).text, 'one two');
  assert.equal((await handler.fetch('app', '/later')).text, 'now');
  await handler.logged('app', /after the answer/);
});

test('cors, rate limits and bearer tokens work inside', async () => {
  const preflight = await handler.fetch('app', '/users', {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
  });
  assert.deepEqual([preflight.status, preflight.headers['access-control-allow-origin']], [204, 'https://a.example']);
  const statuses: number[] = [];
  for (let at = 0; at < 3; at++) statuses.push((await handler.fetch('app', '/limited')).status);
  assert.deepEqual(statuses, [200, 200, 429]);
  const text = [{ alg: 'HS256' }, { sub: 'u1' }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const token = `${text}.${createHmac('sha256', 'a secret of at least 32 bytes, really').update(text).digest('base64url')}`;
  assert.deepEqual((await handler.fetch('app', '/private', { headers: { authorization: `Bearer ${token}` } })).json(), {
    id: 'u1',
  });
  assert.equal(
    (await handler.fetch('app', '/private', { headers: { authorization: `Bearer ${token}x` } })).status,
    401,
  );
});

test('bearer tokens of a key set are verified inside', async () => {
  const text = [
    { alg: 'ES256', kid: 'k' },
    { sub: 'u1', iss: 'tests' },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signed = sign('sha256', Buffer.from(text), { key: keys.privateKey, dsaEncoding: 'ieee-p1363' });
  const ask = (token: string) => handler.fetch('app', '/signed', { headers: { authorization: `Bearer ${token}` } });
  assert.deepEqual((await ask(`${text}.${signed.toString('base64url')}`)).json(), { id: 'u1' });
  assert.equal((await ask(`${text}.${signed.subarray(1).toString('base64url')}`)).status, 401);
});

test('messages, timers, schedules and workflow runs reach the handlers of their names', async () => {
  const message = (id: string, payload: unknown): object => ({ id, payload, attempt: 1, timestamp: 5 });
  const delivery = {
    queueName: 'outgoing',
    binding: 'MAIL',
    messages: [message('m1', { to: 'ada' }), message('m2', { to: 5 })],
  };
  assert.deepEqual(await handler.deliver('app', 'queue', delivery), {
    outcome: 'ok',
    result: {
      acked: ['m1'],
      retry: [
        {
          id: 'm2',
          error:
            'A message of the queue outgoing does not fit its schema: to: Invalid input: expected string, received number',
          // Another attempt would not help.
          final: true,
        },
      ],
      thrown:
        'A message of the queue outgoing does not fit its schema: to: Invalid input: expected string, received number',
    },
  });
  await handler.logged('app', /^mailed ada outgoing 1 Ada$/);
  await handler.deliver('app', 'timer', {
    binding: 'REMIND',
    id: 't',
    scheduledTime: 5,
    payload: { what: 'tea' },
    intervalMs: null,
  });
  await handler.logged('app', /^reminded of tea$/);
  assert.deepEqual(await handler.deliver('app', 'cron', { name: 'NIGHTLY', cron: '0 3 * * *', scheduledTime: 7 }), {
    outcome: 'ok',
    result: { noRetry: true },
  });
  await handler.logged('app', /^cleaned at 7$/);
  const run = { workflow: 'onboard', executionId: 'e1', run: 'r1', input: { name: 'ada' }, steps: {} };
  assert.deepEqual(await handler.deliver('app', 'workflow', run), {
    outcome: 'ok',
    result: { status: 'completed', output: { done: true } },
  });
});

test('the description and its page are served', async () => {
  const description = (await handler.fetch('app', '/openapi.json')).json() as { openapi: string; paths: object };
  assert.equal(description.openapi, '3.1.0');
  assert.deepEqual(Object.keys(description.paths), [
    '/',
    '/users/{id}',
    '/users',
    '/gone',
    '/broken',
    '/wrong',
    '/stream',
    '/later',
    '/limited',
    '/private',
    '/signed',
  ]);
  assert.match((await handler.fetch('app', '/docs')).text, /<script type="module" src="\/docs\/page\.js">/);
  assert.match((await handler.fetch('app', '/docs/page.js')).text, /OpenAPI description/);
});
