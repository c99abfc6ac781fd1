// Two replicas of the sandbox service over one Postgres, in depth: streams, events, visits and ends of calls that pass
// between them, and replicas that are gone in further ways than test/integration/sandbox-replicas.test.ts has.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer as createWebServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buffer, text } from 'node:stream/consumers';
import { WebSocket, WebSocketServer } from 'ws';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { openSandboxRole } from '#postgres/sandbox-role.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { heldBy, openOther, startReplica, TOKEN, type Replica } from '#test/setup/sandbox-replica.ts';
import { eventually } from '#test/setup/whole-platform.ts';

let folder: string;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let sql: Postgres;
let url: string;
let a: Replica;
let b: Replica;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandbox-replicas-'));
  database = await createTestDatabase();
  sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
  url = await openSandboxRole(sql, database.url);
  a = await startReplica({ url, folder, name: 'a' });
  b = await startReplica({ url, folder, name: 'b' });
});
after(async () => {
  await Promise.all([a?.close(), b?.close()]);
  await sql?.close();
  await database?.close();
  await rm(folder, { recursive: true, force: true });
});

/** What a stream of events says, up to a text. */
async function readUntil(answer: IncomingMessage, wanted: RegExp): Promise<RegExpExecArray> {
  let seen = '';
  for await (const chunk of answer.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    seen += chunk.toString();
    const found = wanted.exec(seen);
    if (found !== null) return found;
  }
  return assert.fail(`it ended before ${wanted.source}: ${seen}`);
}

test('a call for a sandbox that another replica has is answered by that one, and its errors are', async () => {
  assert.equal(await a.exec('one', 'echo of a > kept; cat kept'), 'of a\n');
  assert.equal(await b.exec('one', 'cat kept'), 'of a\n');
  assert.deepEqual([a.held(), b.held()], [1, 0]);
  const [status, body] = await b.call('/boxes/one/readFile', { body: '{"path":"none"}' });
  assert.deepEqual([status, (body as { error: { code: string } }).error.code], [404, 'file_not_found']);
  // The other way round.
  assert.equal(await b.exec('two', 'echo of b > kept; cat kept'), 'of b\n');
  assert.equal(await a.exec('two', 'cat kept'), 'of b\n');
  assert.deepEqual([a.held(), b.held()], [1, 1]);
});

test('what a sandbox is to be made of goes to the replica that has it', async () => {
  const headers = { 'sandbox-options': encodeURIComponent('{"machine":"large"}') };
  const [status] = await b.call('/boxes/one/exec', { body: '{"command":"true"}', headers });
  assert.equal(status, 200);
  const [, info] = await a.call('/boxes/one/info');
  assert.equal((info as { machine: string }).machine, 'large');
  assert.equal(await b.exec('one', 'cat kept'), 'of a\n');
});

test('bytes go both ways as streams', async () => {
  const content = Buffer.alloc(20_000_000, 'abcdefg');
  const headers = { 'sandbox-arguments': encodeURIComponent('{"path":"large"}') };
  const [status] = await b.call('/boxes/one/writeFile', { body: content, headers });
  assert.equal(status, 200);
  assert.equal(await a.exec('one', 'wc -c < large | tr -d " "'), '20000000\n');
  const answer = await b.raw('/boxes/one/readFile', { body: '{"path":"large"}' });
  assert.equal(answer.headers['content-type'], 'application/octet-stream');
  assert.ok((await buffer(answer)).equals(content));
});

test('events come while the command runs', async () => {
  const body = '{"command":"mkfifo gate; echo ready; cat gate"}';
  const answer = await b.raw('/boxes/one/execStream', { body });
  assert.equal(answer.headers['content-type'], 'text/event-stream');
  await readUntil(answer, /data: \{"type":"stdout","data":"ready\\n"\}\n\n/);
  await a.exec('one', 'echo go > gate');
  assert.match(
    await text(answer),
    /data: \{"type":"stdout","data":"go\\n"\}\n\ndata: \{"type":"complete","success":true/,
  );
});

test('a caller that goes ends the command at the other replica', async () => {
  const caller = new AbortController();
  const body = '{"command":"mkfifo gate2; echo pid $$ of it; cat gate2"}';
  const answer = await b.raw('/boxes/one/execStream', { body, signal: caller.signal });
  const [, pid] = await readUntil(answer, /pid (\d+) of it/);
  assert.equal(await a.exec('one', `kill -0 ${pid} && echo runs`), 'runs\n');
  answer.on('error', () => {});
  caller.abort();
  await eventually('the end', async () => (await a.exec('one', `kill -0 ${pid} 2>&- || echo ended`)) === 'ended\n');
});

test('a replica that goes during a call ends the answer as broken, never as a whole one', async () => {
  const answer = await b.raw('/boxes/one/execStream', { body: '{"command":"mkfifo gate3; echo ready; cat gate3"}' });
  await readUntil(answer, /"data":"ready/);
  a.cut();
  await assert.rejects(text(answer), { code: 'ECONNRESET' });
  assert.equal(await b.exec('one', 'cat kept'), 'of a\n');
});

test('a visit of an exposed port is passed on as calls are, and so is a WebSocket', async (t) => {
  // Machines of `local` are this one: their servers are too.
  const server = createWebServer((request, response) => void request.pipe(response));
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => socket.on('message', (said) => socket.send(`of ${String(said)}`)));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  const headers = { 'sandbox-port-origin': 'https://*.apps.test' };
  const { port } = server.address() as AddressInfo;
  const [, exposed] = await a.call('/boxes/one/exposePort', { body: JSON.stringify({ port }), headers });
  const { url, token } = exposed as { url: string; token: string };
  const name = /^https:\/\/port---([a-z2-7]{16})\.apps\.test\/$/.exec(url)![1];
  assert.deepEqual([a.held(), b.held()], [1, 1]);
  const visit = (method: string, given: string): Record<string, string> => ({
    'sandbox-arguments': encodeURIComponent(
      JSON.stringify({
        origin: url.slice(0, -1),
        method,
        path: '/',
        headers: [['x-platform-port-token', given]],
        bodyBytes: null,
      }),
    ),
  });
  const large = Buffer.alloc(5_000_000, 'abcdefg');
  for (const replica of [a, b]) {
    const answer = await replica.visit(name!, { body: large, headers: visit('POST', token) });
    assert.equal(answer.statusCode, 200);
    const back = await buffer(answer);
    assert.deepEqual([replica.owner, back.byteLength, back.equals(large)], [replica.owner, large.byteLength, true]);
    const refused = await replica.visit(name!, { headers: visit('POST', 'guessed') });
    assert.deepEqual(
      [refused.statusCode, (JSON.parse(await text(refused)) as { error: { code: string } }).error.code],
      [401, 'sandbox_port_locked'],
    );
    const socket = new WebSocket(`ws://127.0.0.1:${replica.port}/v1/ports/${name}`, {
      headers: { authorization: `Bearer ${TOKEN}`, ...visit('GET', token) },
    });
    await once(socket, 'open');
    socket.send(replica.owner);
    const [said] = (await once(socket, 'message')) as [Buffer];
    assert.equal(said.toString(), `of ${replica.owner}`);
    socket.close();
    await once(socket, 'close');
  }
  assert.deepEqual([a.held(), b.held()], [1, 1]);
  // The sandbox's own end, said at the other one.
  assert.deepEqual(await b.call('/boxes/one/unexposePort', { body: JSON.stringify({ port }), headers }), [200, null]);
  assert.equal((await a.visit(name!, { headers: visit('POST', token) })).statusCode, 404);
});

test('suspend, resume and destroy reach the replica that has the sandbox, and end the calls in it', async () => {
  assert.equal(await a.exec('three', 'echo made'), 'made\n');
  const stateOf = async (): Promise<unknown> =>
    ((await b.call('/boxes/three/info'))[1] as { state: string } | null)?.state;
  assert.deepEqual(await b.call('/boxes/three/suspend'), [200, null]);
  assert.equal(await stateOf(), 'suspended');
  assert.deepEqual(await b.call('/boxes/three/resume'), [200, null]);
  assert.equal(await stateOf(), 'running');
  const waiting = b.call('/boxes/three/exec', { body: '{"command":"mkfifo gate; touch runs; cat gate"}' });
  await eventually('the command', async () => (await a.exec('three', 'ls runs 2>&-')) === 'runs\n');
  assert.deepEqual(await b.call('/boxes/three/destroy'), [200, null]);
  assert.deepEqual(await waiting, [
    410,
    { error: { code: 'sandbox_destroyed', message: 'Sandbox three was destroyed during the call' } },
  ]);
  assert.equal(await stateOf(), undefined);
});

test('a replica that takes the connection and says nothing is gone as well', async (t) => {
  const hung = await openOther(t, (socket) => void socket.resume());
  const c = await startReplica({ url, folder, name: 'c', startMs: 1 });
  t.after(() => c.close());
  await heldBy(sql, hung.owner, 'hung');
  const answer = c.exec('hung', 'echo taken over');
  await eventually('a look', async () => hung.hits > 0);
  await sql.all(`UPDATE sandbox.sandbox SET lease_until = now() - interval '1 ms' WHERE id = 'hung'`);
  assert.equal(await answer, 'taken over\n');
});

test('a sandbox that is given back meanwhile gets the call with its whole body', async (t) => {
  const other = await openOther(t, (socket) => {
    socket.once('data', () => {
      void sql.all(`UPDATE sandbox.sandbox SET owner = NULL, lease_until = NULL WHERE id = 'back'`).then(() => {
        socket.end('HTTP/1.1 421 Misdirected Request\r\ncontent-length: 2\r\n\r\n{}');
      });
    });
  });
  await heldBy(sql, other.owner, 'back');
  const headers = { 'sandbox-arguments': encodeURIComponent('{"path":"file"}') };
  const [status] = await b.call('/boxes/back/writeFile', { body: 'all of it', headers });
  assert.equal(status, 200);
  assert.equal(await b.exec('back', 'cat file'), 'all of it');
  assert.equal(other.hits, 1);
});

test('one that is gone with a lease that does not end is refused after a while', async (t) => {
  const c = await startReplica({ url, folder, name: 'c', waitMs: 0 });
  t.after(() => c.close());
  await heldBy(sql, 'nobody http://127.0.0.1:1', 'stuck');
  assert.deepEqual(await c.exec('stuck', 'true'), {
    error: {
      code: 'sandbox_unavailable',
      message: 'The sandbox is unavailable: another replica of the service has it (nobody http://127.0.0.1:1)',
    },
  });
});

test('all sandboxes of a project are destroyed, whoever has them', async () => {
  await sql.all(`DELETE FROM sandbox.sandbox WHERE key = 'stuck'`);
  assert.equal(await a.exec('five', 'echo a'), 'a\n');
  assert.equal(await b.exec('six', 'echo b'), 'b\n');
  assert.deepEqual(await b.call('', { method: 'DELETE' }), [200, {}]);
  assert.deepEqual(await sql.all('SELECT id FROM sandbox.sandbox'), []);
  assert.deepEqual([a.held(), b.held()], [0, 0]);
});
