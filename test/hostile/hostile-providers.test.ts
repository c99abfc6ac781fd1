// Providers that want to hurt: the gateway, in a process with a heap of 96 MB, answers each call with an error or
// passes on what the client takes, and grows by no more than 150 MB.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { nodeFlags } from '#core/node-flags.mjs';
import { until } from '#test/setup/until.ts';

const GROWTH_BYTES_MAX = 150e6;
/** What a client takes of a flood. */
const TAKEN_BYTES = 10e6;

/** Sends the same over and over, as fast as it is taken. */
function flood(response: ServerResponse, chunkOf: (nth: number) => string): void {
  let nth = 0;
  floods += 1;
  response.on('close', () => (floods -= 1));
  const piece = (): string => Array.from({ length: 200 }, () => chunkOf(nth++)).join('');
  const same = chunkOf.length === 0 ? piece() : null;
  const more = (): void => {
    while (!response.destroyed) {
      const text = same ?? piece();
      sent += text.length;
      if (!response.write(text)) return;
    }
  };
  response.on('drain', more);
  more();
}
const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const said = (index: number, content: string): string =>
  event({ choices: [{ index, delta: { content }, finish_reason: null }] });
const BOMB = gzipSync(Buffer.alloc(50_000_000));
let sent = 0;
let floods = 0;
let redirected = 0;

const attacks: Readonly<Record<string, (response: ServerResponse) => void>> = {
  hangs: () => {},
  'endless headers': (response) => {
    const { socket } = response;
    socket!.write('HTTP/1.1 200 OK\r\n');
    const more = (): void => {
      while (!socket!.destroyed && socket!.write('x-header: value\r\n'.repeat(100)));
    };
    socket!.on('drain', more).on('error', () => {});
    more();
  },
  'comments alone': (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const timer = setInterval(() => response.write(': wait\n\n'), 50);
    response.on('close', () => clearInterval(timer));
  },
  'a line without an end': (response) => flood(response, () => 'data: xxxxxxxxxxxxxxxx'),
  'an event without an end': (response) => flood(response, () => 'data: x\n'),
  'endless JSON': (response) => flood(response, () => '[[[[[[[[[['),
  'an endless refusal': (response) => {
    response.statusCode = 400;
    flood(response, () => 'no no no no ');
  },
  'a compressed bomb': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    response.end(BOMB);
  },
  'a length that is too long': (response) => {
    response.writeHead(200, { 'content-length': '1000000000000' });
    response.write('{"choices":', () => response.destroy());
  },
  'a length that is too short': (response) => {
    response.socket!.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"choices":[]}');
  },
  'a redirect inside': (response) => {
    response.writeHead(307, { location: '/redirected' });
    response.end();
  },
  'tiny events': (response) => flood(response, () => event({ choices: [] })),
  'new answers': (response) => flood(response, (nth) => said(nth, 'x')),
  'ten gigabytes': (response) => flood(response, () => said(0, 'x'.repeat(1000))),
  bursts: (response) => {
    response.writeHead(sent++ % 2 === 0 ? 429 : 500, { 'retry-after': '0' });
    response.end();
  },
};

const server = createServer((request: IncomingMessage, response) => {
  if (request.url === '/redirected') redirected += 1;
  response.on('error', () => {});
  void json(request).then((body) => attacks[String((body as { model: string }).model)]!(response));
});
let child: ChildProcess;
interface Gateway {
  readonly url: string;
  readonly token: string;
}
let hasty: Gateway;
let patient: Gateway;
before(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const execArgv = [...nodeFlags, '--expose-gc', '--max-old-space-size=96'];
  child = fork(join(import.meta.dirname, 'gateway-child.ts'), [url], { execArgv });
  const [gateways] = (await once(child, 'message')) as [[Gateway, Gateway]];
  [hasty, patient] = gateways;
});
after(async () => {
  child.kill();
  await once(child, 'exit');
  server.close();
  server.closeAllConnections();
});

async function residentBytes(): Promise<number> {
  child.send('memory');
  const [told] = (await once(child, 'message')) as [{ residentBytes: number }];
  return told.residentBytes;
}

const ask = (model: string, stream: boolean, signal?: AbortSignal, gateway = patient): Promise<Response> =>
  fetch(`${gateway.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hi' }] }),
    ...(signal === undefined ? {} : { signal }),
  });

async function boundedMemory(run: () => Promise<void>): Promise<void> {
  const before = await residentBytes();
  await run();
  const grown = (await residentBytes()) - before;
  assert.ok(grown < GROWTH_BYTES_MAX, `grew by ${grown} bytes`);
}

for (const [attack, status, isStream] of [
  ['hangs', 504, false],
  ['hangs', 504, true],
  ['endless headers', 502, false],
  ['comments alone', 504, true],
  ['a line without an end', 502, true],
  ['an event without an end', 502, true],
  ['endless JSON', 502, false],
  ['an endless refusal', 400, false],
  ['a compressed bomb', 502, false],
  ['a length that is too long', 502, false],
  ['a length that is too short', 502, false],
  ['a redirect inside', 502, false],
] as const) {
  test(`${attack}, ${isStream ? 'streamed' : 'whole'}: ${status}`, () =>
    boundedMemory(async () => {
      const gateway = status === 504 ? hasty : patient;
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => ask(`up/${attack}`, isStream, undefined, gateway)),
      );
      for (const answer of answers) {
        assert.equal(answer.status, status);
        const { error } = (await answer.json()) as { error: { message: string } };
        assert.ok(error.message.length < 3000);
      }
      assert.equal(redirected, 0);
    }));
}

test('answers without number in one stream end in an error', () =>
  boundedMemory(async () => {
    const text = await (await ask('up/new answers', true)).text();
    assert.match(text, /"code":"upstream_error"/);
  }));

for (const attack of ['tiny events', 'ten gigabytes']) {
  test(`${attack}: passes as fast as the client takes it, and ends when the client goes`, () =>
    boundedMemory(async () => {
      const gone = new AbortController();
      const answer = await ask(`up/${attack}`, true, gone.signal);
      sent = 0;
      let taken = 0;
      for await (const bytes of answer.body!) {
        taken += bytes.byteLength;
        if (taken > TAKEN_BYTES) break;
      }
      // Sockets on the way hold some of it.
      assert.ok(sent < taken + 60e6, `the provider sent ${sent}, the client took ${taken}`);
      gone.abort();
      await until(() => floods === 0);
    }));
}

test('refusals in bursts are each an answer', () =>
  boundedMemory(async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask('up/bursts', true)));
    const statuses = new Set(answers.map(({ status }) => status));
    assert.deepEqual(statuses, new Set([429, 502]));
    await Promise.all(answers.map((answer) => answer.text()));
  }));

test('a provider of an organization is not reached at a private address', async () => {
  const asked = new Promise<boolean>((resolve) => server.once('request', () => resolve(true)));
  const answer = await ask('own/hangs', false);
  assert.equal(answer.status, 502);
  assert.match(await answer.text(), /EGRESS_FORBIDDEN/);
  assert.equal(await Promise.race([asked, Promise.resolve(false)]), false);
});
