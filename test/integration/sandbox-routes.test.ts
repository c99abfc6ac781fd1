// The routes of the sandbox service before an agent that lies: it is a tenant's, and may answer anything.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import { connect, createServer as createSocketServer, type AddressInfo, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { text } from 'node:stream/consumers';
import { createBearerCheck } from '#core/process/bearer.ts';
import { PlatformError } from '#core/errors.ts';
import { createExecLog, type ExecLine } from '#sandbox/routes/exec-log.ts';
import { createSandboxRoutes } from '#sandbox/routes/routes.ts';
import type { Sandboxes } from '#sandbox/routes/held-sandboxes.ts';

const TOKEN = 'fa02c1d4e5b6978812345678deadbeef';
const HOME = '/v1/projects/shop/sandboxes/boxes/one';

let held = 0;
/** What the agent does with a connection. */
let agent: (socket: Socket) => void = () => {};
const agentServer = createSocketServer((socket) => {
  socket.on('error', () => {});
  agent(socket);
});
const notHere = (): never => assert.fail('not asked for');
const sandboxes: Sandboxes = {
  async hold({ id }) {
    if (id === 'down') throw new PlatformError('sandbox_unavailable', { reason: 'the engine is away' });
    if (id === 'broken') throw new Error('/secret/path is broken');
    held++;
    let isHeld = true;
    return {
      key: id,
      async connect() {
        const socket = connect((agentServer.address() as AddressInfo).port, '127.0.0.1');
        await once(socket, 'connect');
        return socket;
      },
      release() {
        if (isHeld) held--;
        isHeld = false;
      },
    };
  },
  holdKey: notHere,
  info: async () => null,
  list: async (_within, page) => ({ items: [], cursor: JSON.stringify(page) }),
  snapshot: notHere,
  fork: notHere,
  listSnapshots: notHere,
  deleteSnapshot: notHere,
  suspend: notHere,
  resume: notHere,
  stop: notHere,
  destroy: async () => {},
  destroyProject: async () => {},
};
const lines: string[] = [];
const printed: ExecLine[] = [];
const service = createServer(
  createSandboxRoutes({
    sandboxes,
    isAuthorized: createBearerCheck(TOKEN),
    callsMax: 3,
    execLog: createExecLog((line) => void printed.push(line)),
    log: (_level, message) => lines.push(message),
  }),
);

before(async () => {
  await new Promise<void>((resolve) => void agentServer.listen(0, '127.0.0.1', resolve));
  await new Promise<void>((resolve) => void service.listen(0, '127.0.0.1', resolve));
});
after(() => {
  service.closeAllConnections();
  service.close();
  agentServer.close();
});

interface Asked {
  readonly method?: string;
  readonly body?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask(
  path: string,
  { method = 'POST', body = '{}', token = TOKEN, headers = {} }: Asked = {},
): Promise<IncomingMessage> {
  const { port } = service.address() as AddressInfo;
  const outgoing = request({
    host: '127.0.0.1',
    port,
    path,
    method,
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  outgoing.end(method === 'GET' ? undefined : body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return answer;
}

async function codeOf(path: string, asked?: Asked): Promise<[number, string]> {
  const answer = await ask(path, asked);
  return [answer.statusCode!, (JSON.parse(await text(answer)) as { error: { code: string } }).error.code];
}

/** Answers a request with bytes as they are, and closes. */
const says =
  (answer: string): typeof agent =>
  (socket) =>
    void socket.once('data', () => socket.end(answer));

const answerOf = (status: string, headers: readonly string[], body: string): string =>
  [`HTTP/1.1 ${status}`, ...headers, `content-length: ${Buffer.byteLength(body)}`, '', body].join('\r\n');

test('whoever has no token, or asks for what is not there, is told so', async () => {
  assert.deepEqual(await codeOf(`${HOME}/exec`, { token: 'guessed' }), [401, 'sandbox_unauthorized']);
  assert.equal((await ask('/healthz', { method: 'GET', token: 'none' })).statusCode, 200);
  for (const path of [
    '/',
    '/v2/projects/shop/sandboxes/boxes/one/exec',
    `${HOME}/__proto__`,
    `${HOME}/exec/more`,
    HOME,
  ])
    assert.deepEqual(await codeOf(path), [404, 'sandbox_operation_unknown'], path);
  for (const path of [
    'shop/sandboxes/boxes/..%2f..',
    'shop/sandboxes/boxes/-a',
    'shop/sandboxes/b%2Fx/one',
    'Shop/sandboxes/b/one',
  ])
    assert.deepEqual(await codeOf(`/v1/projects/${path}/exec`), [400, 'invalid_argument'], path);
  assert.deepEqual(await codeOf('/v1/projects/shop/sandboxes/boxes?limit=0', { method: 'GET' }), [
    400,
    'invalid_argument',
  ]);
});

test('options that are none are refused before anything is held', async () => {
  for (const header of ['%', 'null', '7', encodeURIComponent('{"machine":"huge"}')])
    assert.deepEqual(
      await codeOf(`${HOME}/exec`, { headers: { 'sandbox-options': header } }),
      [400, 'invalid_argument'],
      header.slice(0, 40),
    );
  assert.equal(held, 0);
});

test('a sandbox that cannot be had is said as it is, and what broke inside is not', async () => {
  assert.deepEqual(await codeOf(HOME.replace('one', 'down') + '/exec'), [503, 'sandbox_unavailable']);
  const answer = await ask(HOME.replace('one', 'broken') + '/exec');
  assert.equal(answer.statusCode, 500);
  assert.doesNotMatch(await text(answer), /secret/);
  assert.match(lines.join(), /secret\/path is broken/);
});

test('of an answer only its body goes on, with the type of the operation', async () => {
  agent = says(answerOf('200 OK', ['content-type: text/html', 'set-cookie: a=b', 'content-encoding: gzip'], '{"a":1}'));
  const answer = await ask(`${HOME}/exec`);
  assert.deepEqual(
    [answer.headers['content-type'], answer.headers['set-cookie'], answer.headers['content-encoding']],
    ['application/json', undefined, undefined],
  );
  assert.equal(await text(answer), '{"a":1}');
});

test('what a command prints is logged, without what it was given', async () => {
  printed.length = 0;
  agent = says(answerOf('200 OK', [], '{"stdout":"out","stderr":"err","exitCode":1}'));
  const body = '{"command":"secret command","env":{"KEY":"secret value"}}';
  assert.equal(await text(await ask(`${HOME}/exec`, { body })), '{"stdout":"out","stderr":"err","exitCode":1}');
  assert.deepEqual(printed, [
    { project: 'shop', resource: 'boxes', id: 'one', stdout: 'out', stderr: 'err', exitCode: 1, isCut: false },
  ]);
});

test('what is no answer, or no error that there is, is a lost sandbox', async () => {
  for (const answer of [
    'garbage\r\n\r\n',
    '',
    answerOf('200 OK', ['content-length: 3', 'transfer-encoding: chunked'], 'x'),
    answerOf('500 Oh', [], 'no json'),
    answerOf('400 Bad', [], '{"error":{"code":"__proto__","message":"x"}}'),
    answerOf('404 Not', [], 'null'),
    `HTTP/1.1 200 OK\r\n${`x: ${'y'.repeat(100)}\r\n`.repeat(2000)}\r\n`,
  ]) {
    agent = says(answer);
    assert.deepEqual(await codeOf(`${HOME}/exec`), [503, 'sandbox_lost'], answer.slice(0, 60));
  }
  agent = says(answerOf('200 OK', [], 'x'));
  assert.deepEqual(await codeOf(`${HOME}/fetch`), [503, 'sandbox_lost']);
});

test('an error of the agent is passed on, its message cut', async () => {
  agent = says(
    answerOf('500 Oh', [], JSON.stringify({ error: { code: 'file_not_found', message: 'x'.repeat(10_000) } })),
  );
  const answer = await ask(`${HOME}/readFile`);
  const { error } = JSON.parse(await text(answer)) as { error: { code: string; message: string } };
  assert.deepEqual([answer.statusCode, error.code, error.message.length], [404, 'file_not_found', 4000]);
});

test('an answer that breaks off does not end as a whole one', async () => {
  agent = (socket) =>
    void socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', () => socket.destroy());
    });
  const answer = await ask(`${HOME}/exec`);
  await assert.rejects(text(answer), { code: 'ECONNRESET' });
});

test('an agent that answers before it has read does not hold up the next call', async () => {
  agent = says(answerOf('400 Bad', [], JSON.stringify({ error: { code: 'invalid_argument', message: 'too much' } })));
  const body = 'x'.repeat(5_000_000);
  assert.deepEqual(await codeOf(`${HOME}/writeFile`, { body }), [400, 'invalid_argument']);
  assert.deepEqual(await codeOf(`${HOME}/writeFile`), [400, 'invalid_argument']);
});

test('a caller that goes is gone for the agent as well, and its place is free again', async () => {
  const { port } = service.address() as AddressInfo;
  const seen: Socket[] = [];
  let onThird: () => void = () => {};
  const third = new Promise<void>((resolve) => (onThird = resolve));
  agent = (socket) => {
    seen.push(socket.resume());
    if (seen.length === 3) onThird();
  };
  const calls = [1, 2, 3].map(() => {
    const call = request({
      host: '127.0.0.1',
      port,
      path: `${HOME}/exec`,
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    call.on('error', () => {});
    return call.end('{}');
  });
  await third;
  assert.equal(held, 3);
  assert.deepEqual(await codeOf(`${HOME}/exec`), [429, 'sandbox_limit']);
  const closed = seen.map((socket) => once(socket, 'close'));
  for (const call of calls) call.destroy();
  await Promise.all(closed);
  agent = says(answerOf('200 OK', [], 'true'));
  // Its place is given back once the service has seen the caller go.
  for (;;) {
    const answer = await ask(`${HOME}/exec`);
    await text(answer);
    if (answer.statusCode === 200) break;
  }
  assert.equal(held, 0);
});
