// The way from the API to the AI gateway's process: what passes, what does not, and what is said where there is none.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openAiHop } from '#control/process/ai-hop.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'platform-hop-'));
const codeOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { error: { code: string } }).error.code;

test('only /ai and what is below it is passed on', async () => {
  const hop = openAiHop(null);
  for (const at of ['/', '/aim', '/projects/ai', '/v1/ai'])
    assert.equal(hop.fetch(new Request(`http://api.test${at}`)), null, at);
  for (const at of ['/ai', '/ai/models', '/ai?x=1', '/ai/v1/chat/completions']) {
    const response = await hop.fetch(new Request(`http://api.test${at}`))!;
    assert.deepEqual([response.status, await codeOf(response)], [503, 'provider_not_configured'], at);
    assert.equal(response.headers.get('x-should-retry'), 'false');
  }
});

test('a gateway that is away is told from none: a client may try again', async () => {
  const hop = openAiHop(path.join(folder, 'nobody.sock'));
  const response = await hop.fetch(new Request('http://api.test/ai/models'))!;
  assert.deepEqual([response.status, await codeOf(response)], [503, 'upstream_error']);
  assert.equal(response.headers.get('retry-after'), '1');
  await hop.close();
});

test('headers, bodies and answers pass as they are, but for what belongs to one connection or says who calls', async () => {
  const socket = path.join(folder, 'ai.sock');
  const server = createServer((request, response) => {
    response.writeHead(429, { 'x-request-id': 'req_1', 'retry-after': '7', 'access-control-allow-origin': '*' });
    request.pipe(response);
  }).listen(socket);
  await once(server, 'listening');
  const hop = openAiHop(socket);
  try {
    const asked = once(server, 'request') as Promise<[IncomingMessage]>;
    const response = await hop.fetch(
      new Request('http://api.test/ai/v1/chat/completions?a=%20b', {
        method: 'POST',
        headers: {
          authorization: 'Bearer t',
          'x-platform-timeout-ms': '5',
          'x-platform-ai-caller': 'forged',
          cookie: 'platform-session=x',
        },
        body: '{"model":"auto"}',
      }),
    )!;
    const [{ url, headers }] = await asked;
    assert.equal(url, '/ai/v1/chat/completions?a=%20b');
    assert.deepEqual(
      ['authorization', 'x-platform-timeout-ms', 'x-platform-ai-caller', 'cookie'].map((name) => headers[name]),
      ['Bearer t', '5', undefined, undefined],
    );
    assert.equal(response.status, 429);
    assert.deepEqual(
      ['x-request-id', 'retry-after', 'access-control-allow-origin'].map((name) => response.headers.get(name)),
      ['req_1', '7', '*'],
    );
    assert.equal(await response.text(), '{"model":"auto"}');
  } finally {
    await hop.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
