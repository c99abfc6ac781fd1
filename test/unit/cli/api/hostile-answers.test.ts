// What answers at the address of an API need not be one: none of it breaks a command, fills its memory, or reaches the
// terminal as anything but text.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import type { Api } from '#cli/account/api.ts';
import { parseEvents } from '#cli/api/events.ts';
import { allOf, ask } from '#cli/api/requests.ts';
import { run } from '#cli/main.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';
import { recordingShell } from '../recording-shell.ts';

let answer: (request: IncomingMessage, response: ServerResponse) => void;
let asked: string[] = [];
const home = mkdtempSync(path.join(tmpdir(), 'home-'));
const server = createServer((request, response) => {
  asked.push(request.url ?? '');
  answer(request, response);
});
before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
beforeEach(() => void (asked = []));
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(home, { recursive: true });
});

async function call(...words: string[]): Promise<{ code: number; error: string; output: string[] }> {
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const shell = recordingShell(home, {
    PLATFORM_HOME: home,
    PLATFORM_API_URL: origin,
    PLATFORM_API_TOKEN: 'plt_secret',
  });
  const code = await run(words, shell);
  const error = shell.errors.join('\n').replaceAll(origin, 'ORIGIN');
  assert.doesNotMatch(error + shell.output.join('\n'), /plt_secret/);
  return { code, error, output: shell.output };
}

const sends =
  (status: number, body: string, type = 'application/json') =>
  (_: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': type });
    response.end(body);
  };

test('a page, nothing, and JSON of another shape are told as no API', async () => {
  const none = 'error ORIGIN is not a platform API: ';
  for (const [body, found] of [
    ['<html>Welcome to nginx</html>', 'no JSON, but <html>Welcome to nginx</html>'],
    ['', 'no JSON, but nothing'],
    ['[1, 2', 'no JSON, but [1, 2'],
    ['{"items": "all"}', 'a list without items'],
    ['null', 'a list without items'],
  ] as const) {
    answer = sends(200, body);
    const { code, error } = await call('org', 'list');
    assert.deepEqual([code, error.split('\n')[0]], [1, none + found]);
  }
  answer = sends(502, '<html>Bad gateway</html>', 'text/html');
  assert.equal((await call('org', 'list')).error.split('\n')[0], `${none}status 502 without JSON`);
});

test('a redirect is not followed: the token goes nowhere else', async () => {
  answer = (_, response) => response.writeHead(307, { location: 'http://evil.example/' }).end();
  const { code, error } = await call('org', 'list');
  assert.deepEqual([code, asked.length], [1, 1]);
  assert.equal(error.split('\n')[0], 'error ORIGIN is not a platform API: it redirects to http://evil.example/');
});

/** An API without a connection, for answers that are long. */
const apiOf = (fetch: Api['fetch']): Api => ({ origin: 'ORIGIN', token: 'x', source: 'variable', fetch }) as Api;

test('an answer without an end is given up', async () => {
  const chunk = new Uint8Array(1024 * 1024).fill(0x20);
  const endless = apiOf(async () => new Response(new ReadableStream({ pull: (control) => control.enqueue(chunk) })));
  await assert.rejects(ask(endless, 'GET', '/organizations'), {
    message: 'ORIGIN is not a platform API: more than 33554432 bytes',
  });
});

test('an answer that breaks off is told, and pages without an end come to one', async () => {
  answer = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"items": [');
    setImmediate(() => response.destroy());
  };
  assert.match((await call('org', 'list')).error, /^error The response of ORIGIN was interrupted/);
  let count = 0;
  const endless = apiOf(async () => Response.json({ items: [], nextCursor: String(count++) }));
  assert.deepEqual([await allOf(endless, '/organizations'), count], [[], 1000]);
});

test('messages and names reach the terminal without what it obeys', async () => {
  answer = sends(
    409,
    JSON.stringify({ message: '\u001b]0;owned\u0007No\u001b[2J', code: 'conflict', requestId: 'r1' }),
  );
  assert.equal((await call('org', 'create', 'x')).error, 'error No (conflict, request r1)');
  const item = { id: 'org_1', slug: 'a\u001b[31mb', name: 'c\nd\u0007', plan: 'free' };
  answer = sends(200, JSON.stringify({ items: [item], nextCursor: null }));
  assert.deepEqual((await call('org', 'list')).output, ['ab\tc d\t-\tfree\torg_1']);
});

test('events come whole however they are cut, and one without an end is refused', async () => {
  const random = createSeededRandom();
  const sent = [
    ': hello',
    '',
    'id: 1',
    'event: line',
    'data: {"a":',
    'data: 1}',
    '',
    'data: ü',
    '',
    'event: end',
    'data: {}',
    '',
    '',
  ];
  const bytes = new TextEncoder().encode(sent.join('\n'));
  for (let round = 0; round < 200; round++) {
    const ends = random.pick(['\n', '\r\n']);
    const whole = ends === '\n' ? bytes : new TextEncoder().encode(sent.join('\r\n'));
    const cut = async function* (): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < whole.length;) {
        const next = at + 1 + random.below(9);
        yield whole.subarray(at, next);
        at = next;
      }
    };
    const events = [];
    for await (const event of parseEvents(cut())) events.push(event);
    assert.deepEqual(
      events,
      [
        { name: 'line', id: '1', text: '{"a":\n1}' },
        { name: 'message', id: '1', text: 'ü' },
        { name: 'end', id: '1', text: '{}' },
      ],
      `seed ${random.seed}`,
    );
  }
  const endless = async function* (): AsyncGenerator<Uint8Array> {
    for (;;) yield new Uint8Array(100_000).fill(0x61);
  };
  await assert.rejects(async () => {
    for await (const _ of parseEvents(endless()));
  }, /an oversized event/);
});
