// Bodies of responses as streams: whole, in order, in time, and cancelled.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { after, before, test } from 'node:test';
import { notOverUws, startHandler, type TestHandler } from '#test/setup/handler.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const code = `
const encoder = new TextEncoder();
let cancelled = null;
const bodies = {
  events() {
    let number = 0;
    return new ReadableStream({
      pull(controller) {
        controller.enqueue(encoder.encode('event ' + number + '\\n'));
        if (++number === 1000) controller.close();
      },
    });
  },
  // Chunks of any size and kind, all of one turn and of several.
  sizes(query) {
    const sizes = query.get('sizes').split(',').map(Number);
    let at = 0;
    let total = 0;
    return new ReadableStream({
      async pull(controller) {
        if (at % 3 === 0) await scheduler.wait(0);
        if (at === sizes.length) return controller.close();
        const bytes = new Uint8Array(sizes[at++] + 8).map(() => total++ % 251).subarray(0, sizes[at - 1]);
        total -= 8;
        controller.enqueue(at % 2 === 0 ? bytes.slice().buffer : at % 5 === 0 ? new DataView(bytes.slice().buffer) : bytes);
      },
    });
  },
  echo(query, request) {
    const reader = request.body.getReader();
    return new ReadableStream({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    });
  },
  detached() {
    return new ReadableStream({
      start(controller) {
        const chunk = encoder.encode('detached');
        chunk.buffer.transfer();
        controller.enqueue(encoder.encode('before '));
        controller.enqueue(chunk);
        controller.enqueue(encoder.encode('after'));
        controller.close();
      },
    });
  },
  repeated() {
    const chunk = new Uint8Array(64 * 1024).fill(97);
    return new ReadableStream({
      start(controller) {
        for (let i = 0; i < 128; i++) controller.enqueue(chunk);
        controller.close();
      },
    });
  },
  detachedLater() {
    return new ReadableStream({
      start(controller) {
        const chunk = encoder.encode('as it was');
        controller.enqueue(chunk);
        controller.close();
        queueMicrotask(() => queueMicrotask(() => { chunk.fill(33); }));
      },
    });
  },
  text() {
    let first = true;
    return new ReadableStream({
      async pull(controller) {
        if (first) controller.enqueue(encoder.encode('ok '));
        else await scheduler.wait(1), controller.enqueue('text');
        first = false;
      },
    });
  },
  failing() {
    let first = true;
    return new ReadableStream({
      async pull(controller) {
        if (first) controller.enqueue(encoder.encode('begun'));
        else {
          await scheduler.wait(1);
          throw new Error('no more');
        }
        first = false;
      },
    });
  },
  unended() {
    return new ReadableStream({ start(controller) { controller.enqueue(encoder.encode('all there is')); } });
  },
  endless() {
    const chunk = new Uint8Array(1000);
    return new ReadableStream({
      pull(controller) { controller.enqueue(chunk); },
      cancel(reason) { cancelled = reason.name; },
    });
  },
  fake() {
    const stream = new ReadableStream({ start(controller) { controller.enqueue(encoder.encode('true')); controller.close(); } });
    const [symbol] = Object.getOwnPropertySymbols(Object.getPrototypeOf(stream._readableStreamController)).filter((s) => /PullSteps/.test(s.description));
    stream._readableStreamController[symbol] = (request) => {
      request._chunkSteps(encoder.encode('false'));
      request._closeSteps();
      request._closeSteps();
      request._chunkSteps(encoder.encode('late'));
      request._errorSteps(new Error('late'));
    };
    return stream;
  },
};
export default {
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/cancelled') return new Response(String(cancelled));
    return new Response(bodies[pathname.slice(1)](searchParams, request));
  },
};`;

let handler: TestHandler;
before(async () => {
  handler = await startHandler({ app: code });
});
after(() => handler.close());

async function open(path: string): Promise<IncomingMessage> {
  const sent = request({
    host: '127.0.0.1',
    port: handler.port,
    path,
    headers: { host: 'app.localhost' },
    agent: false,
  });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

test('small chunks of one turn arrive whole and in order, joined on the way', async () => {
  const response = await open('/events');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  assert.equal(
    Buffer.concat(chunks).toString(),
    Array.from({ length: 1000 }, (_, number) => `event ${number}\n`).join(''),
  );
  assert.ok(chunks.length < 100, `${chunks.length} chunks`);
});

test('chunks of every size and kind arrive byte for byte', async () => {
  const random = createSeededRandom();
  for (let round = 0; round < 12; round++) {
    const sizes = Array.from({ length: 40 }, () =>
      random.pick([0, 1, 7, 1023, 1024, 1025, 16_383, 16_384, 16_385, random.below(40_000)]),
    );
    const { body } = await handler.fetch('app', `/sizes?sizes=${sizes.join(',')}`);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.equal(body.byteLength, total, `FUZZ_SEED=${random.seed}`);
    assert.ok(
      body.every((byte, at) => byte === at % 251),
      `FUZZ_SEED=${random.seed}`,
    );
  }
});

test(
  'a chunk leaves as soon as it is made, long before the stream ends',
  notOverUws('sends no head without a chunk'),
  async () => {
    const sent = request({
      host: '127.0.0.1',
      port: handler.port,
      path: '/echo',
      method: 'POST',
      headers: { host: 'app.localhost' },
      agent: false,
    });
    sent.flushHeaders();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    for (const text of ['first', 'second', 'third']) {
      sent.write(text);
      assert.equal(String((await once(response, 'data'))[0]), text);
    }
    sent.end();
    response.resume();
    await once(response, 'end');
  },
);

test('a chunk is sent as it was when the stream gave it', async () => {
  assert.equal((await handler.fetch('app', '/detachedLater')).text, 'as it was');
  const response = await handler.fetch('app', '/detached');
  assert.equal(response.text, 'before after');
});

test('a chunk that the stream gives again and again is whole each time', async () => {
  const { body } = await handler.fetch('app', '/repeated');
  assert.equal(body.byteLength, 8 * 1024 * 1024);
  assert.ok(body.every((byte) => byte === 97));
});

test('a chunk that is no bytes and a source that throws cut the response off after what came before', async () => {
  for (const [path, text] of [
    ['/text', 'ok '],
    ['/failing', 'begun'],
    ['/unended', 'all there is'],
  ] as const) {
    const response = await open(path);
    let received = '';
    await assert.rejects(async () => {
      for await (const chunk of response) received += String(chunk);
    }, /aborted/);
    assert.equal(received, text);
  }
});

test('a body that can never end says so in the log', async () => {
  const response = await open('/unended');
  await assert.rejects(response.toArray(), /aborted/);
  await handler.logged('app', /^The response body will never end: it waits for a promise that can never settle$/);
});

test('a client that goes away cancels the source', async () => {
  const response = await open('/endless');
  await once(response, 'data');
  response.destroy();
  let text = 'null';
  while (text === 'null') text = (await handler.fetch('app', '/cancelled')).text;
  assert.equal(text, 'AbortError');
});

test('a worker that tampers with its stream spoils its own response and nothing else', async () => {
  assert.equal((await handler.fetch('app', '/fake')).text, 'false');
  assert.equal((await handler.fetch('app', '/events')).body.byteLength, 9890);
});
