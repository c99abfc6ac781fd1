// The typed client of packages/worker against an app, without a network.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '#packages/worker/client.ts';
import { app } from './app.ts';

const api = createClient<typeof app>('http://app.localhost/', { fetch: (request) => app.fetch(request, {}) });

test('answers are told apart by ok and status', async () => {
  const found = await api.get('/users/:id', { params: { id: 1 } });
  assert.ok(found.ok);
  assert.deepEqual(found.data, { id: 1, name: 'Ada', email: 'ada@example.org' });
  const missing = await api.get('/users/:id', { params: { id: 5 } });
  assert.ok(!missing.ok && missing.status === 404);
  assert.equal(missing.data.error, 'No such user');
  const wrong = await api.get('/users/:id', { params: { id: 'x' } });
  assert.ok(!wrong.ok && wrong.status === 400);
  assert.equal(wrong.data.issues?.[0]?.in, 'params');
});

test('queries, bodies, wildcards and optional ends are sent as the app reads them', async () => {
  const list = await api.get('/users', { query: { q: 'Ada', tag: ['a', 'b'] } });
  assert.ok(list.ok);
  assert.deepEqual(
    list.data.map(({ name }) => name),
    ['Ada'],
  );
  const made = await api.post('/users', { body: { name: 'Grace' } });
  assert.deepEqual([made.status, made.data], [201, { id: 2, name: 'Grace' }]);
  const tree = await api.put('/trees', { body: { name: 'a', children: [{ name: 'b', children: [] }] } });
  assert.deepEqual(tree.data, { name: 'a', children: [{ name: 'b', children: [] }] });
  const file = await api.get('/files/*', { params: { '*': 'a b/c%' }, headers: { 'x-key': 'k' } });
  assert.deepEqual(file.data, { path: 'a b/c%', key: 'k' });
  assert.deepEqual((await api.get('/pages/:page?')).data, { page: 'first' });
  assert.deepEqual((await api.get('/pages/:page?', { params: { page: 'a/b' } })).data, { page: 'a/b' });
  assert.deepEqual((await api.get('/admin/stats')).data, { users: 1 });
});

test('an empty answer is undefined, a date a text, a failure its body', async () => {
  const gone = await api.delete('/users/:id', { params: { id: 1 } });
  assert.deepEqual([gone.ok, gone.status, gone.data], [true, 204, undefined]);
  const dates = await api.get('/dates');
  assert.ok(dates.ok);
  const at: string = dates.data.at;
  assert.equal(at, '1970-01-01T00:00:00.000Z');
  const broken = await api.get('/broken');
  assert.ok(!broken.ok);
  assert.deepEqual([broken.status, broken.data], [503, { error: 'Later', code: 'later' }]);
});

test('headers go with every call, and a parameter that is missing is an error', async () => {
  const seen: string[] = [];
  const counted = createClient<typeof app>(new URL('http://app.localhost'), {
    headers: async () => ({ authorization: 'Bearer x' }),
    fetch: (request) => {
      seen.push(
        `${request.method} ${request.url} ${request.headers.get('authorization')} ${request.headers.get('x-key')}`,
      );
      return app.fetch(request, {});
    },
  });
  await counted.get('/files/*', { params: { '*': 'x' }, headers: { 'x-key': 'k' } });
  assert.deepEqual(seen, ['GET http://app.localhost/files/x Bearer x k']);
  await assert.rejects(counted.get('/users/:id', { params: {} as never }), /needs the parameter id/);
});
