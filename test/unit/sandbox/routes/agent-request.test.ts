// What an agent in a sandbox, which is a stranger's, may answer to the service: each call comes to an end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { refusalOf } from '#sandbox/routes/agent-refusal.ts';
import { askAgent } from '#sandbox/routes/agent-request.ts';

/** What comes of a call that is answered with these bytes. */
async function ask(t: TestContext, answer: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.end(answer, 'latin1'));
  });
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const connection = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const { signal } = new AbortController();
  try {
    const head = await askAgent(connection, { operation: 'exec', args: null, body: [Buffer.from('{}')], signal });
    if (head.statusCode !== 200) throw await refusalOf(head);
    let bytes = 0;
    for await (const chunk of head as AsyncIterable<Buffer>) bytes += chunk.length;
    return `${bytes} bytes`;
  } catch (error) {
    return String((error as { code?: unknown }).code);
  }
}

const OK = 'HTTP/1.1 200 OK\r\n';
for (const [what, answer, outcome] of [
  [
    'that asks for another protocol',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    'sandbox_lost',
  ],
  ['of heads that go on', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000), 'sandbox_lost'],
  ['with two lengths', `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nab`, 'sandbox_lost'],
  ['with a length and chunks', `${OK}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`, 'sandbox_lost'],
  ['with a head of 100 KB', `${OK}x: ${'y'.repeat(100_000)}\r\n\r\n`, 'sandbox_lost'],
  ['and another one behind it', `${OK}content-length: 2\r\n\r\nok${OK}content-length: 5\r\n\r\nother`, '2 bytes'],
  ['with a chunk of no length', `${OK}transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n`, 'ECONNRESET'],
  ['of nothing', '', 'sandbox_lost'],
  ['of garbage', '\0\xff'.repeat(5000), 'sandbox_lost'],
  ['with a status that is none', 'HTTP/1.1 999 No\r\ncontent-length: 0\r\n\r\n', 'sandbox_lost'],
  [
    'that refuses with no text',
    'HTTP/1.1 400 No\r\n\r\n{"error":{"code":"file_not_found","message":{"toString":1}}}',
    'sandbox_lost',
  ],
  ['that refuses', 'HTTP/1.1 400 No\r\n\r\n{"error":{"code":"file_not_found","message":"a"}}', 'file_not_found'],
] as const)
  test(`an answer ${what} ends the call`, { timeout: 10_000 }, async (t) => {
    assert.equal(await ask(t, answer), outcome);
  });
