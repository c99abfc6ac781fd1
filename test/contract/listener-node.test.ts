// The listener contract over node:http, without exceptions, and what it does with bytes that are no HTTP.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { openNodeListener } from '#runtime/engine/http/listener-node.ts';
import type { Exchange } from '#runtime/engine/http/listener.ts';
import { listenerSuite } from './listener.ts';
import { connectRaw } from './raw-client.ts';

listenerSuite({ open: openNodeListener, technology: 'node', skip: [] });

test(
  'requests with random changes are answered or cut, never hung, and the next one is served',
  { timeout: 120_000 },
  async (t) => {
    const seed = Date.now() % 2 ** 32;
    t.diagnostic(`seed ${seed}`);
    let state = seed;
    const random = (below: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const listener = await openNodeListener({
      port: 0,
      host: '127.0.0.1',
      limits: { ...defaultLimits, idleMs: 100, headersMs: 100, stallMs: 100 },
      onExchange(exchange) {
        // The bridge separates its records with these: none may come through the listener.
        // oxlint-disable-next-line no-control-regex
        if (/[\x01-\x08\x0a-\x1f\x7f]/.test(exchange.headerBlock + exchange.target + exchange.host))
          throw new Error('control character');
        exchange.readBody({ chunk: () => true, end: () => exchange.send(200, '', 'ok') });
      },
    });
    try {
      const seeds = [
        'GET /a?b HTTP/1.1\r\nHost: a.localhost\r\nAccept: */*\r\nCookie: a=b\r\n\r\n',
        'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello',
        'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n',
        'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi',
      ];
      const bytes = [
        '\0',
        '\r',
        '\n',
        '\r\n',
        '\r\n\r\n',
        ' ',
        '\t',
        ':',
        '\x01',
        '\x02',
        '\x7f',
        '\xff',
        '%',
        '0',
        '9',
        'ffffffff',
        '-',
        ',',
        ';',
        'Host: b\r\n',
        'Content-Length: 3\r\n',
        'Transfer-Encoding: x\r\n',
      ];
      const hung: string[] = [];
      const attack = async (): Promise<void> => {
        let request = seeds[random(seeds.length)]! + (random(3) === 0 ? seeds[random(seeds.length)]! : '');
        for (let changes = 1 + random(4); changes > 0; changes--) {
          const at = random(request.length);
          request =
            request.slice(0, at) +
            (random(3) === 0 ? '' : bytes[random(bytes.length)]!) +
            request.slice(at + random(3));
        }
        const client = await connectRaw(listener.port);
        client.send(request);
        // Everything ends by itself: by an answer and the idle limit, or by the limits of slow clients. Far beyond them
        // it hangs.
        const hangs = setTimeout(() => client.socket.destroy(new Error('hangs')), 15_000);
        client.socket.on('error', (error) => {
          if (error.message === 'hangs') hung.push(request);
        });
        await client.closed;
        clearTimeout(hangs);
        assert.match(
          client.unread,
          /^(?:HTTP\/1\.1 (?:100|200|4\d\d|5\d\d) |$)/,
          `seed ${seed}: ${JSON.stringify(request)}`,
        );
      };
      for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 50 }, attack));
      assert.deepEqual(hung, [], `seed ${seed}`);
      const client = await connectRaw(listener.port);
      client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      assert.equal((await client.response()).body, 'ok');
      client.socket.destroy();
    } finally {
      await listener.close();
    }
  },
);

test('a request that came while the process was stopped is answered, also where its connection was to be closed meanwhile', async () => {
  const listener = await openNodeListener({
    port: 0,
    host: '127.0.0.1',
    limits: { ...defaultLimits, idleMs: 50 },
    onExchange: (exchange) => exchange.send(200, '', 'ok'),
  });
  try {
    const client = await connectRaw(listener.port);
    for (let round = 0; round < 2; round++) {
      client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      // Nothing of this process runs meanwhile, and then its timers before its sockets.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
      assert.equal((await client.response()).body, 'ok');
    }
    await client.closed;
  } finally {
    await listener.close();
  }
});

test('of requests pipelined beyond the bound, the first are answered in order, and the connection ends without the rest', async () => {
  const waiting: Exchange[] = [];
  const listener = await openNodeListener({
    port: 0,
    host: '127.0.0.1',
    limits: { ...defaultLimits, pipelinedMax: 3 },
    onExchange: (exchange) => void waiting.push(exchange),
  });
  try {
    const raw = await connectRaw(listener.port);
    raw.send([1, 2, 3, 4, 5].map((number) => `GET /${number} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
    while (waiting.length < 3) await new Promise((resolve) => setImmediate(resolve));
    for (const exchange of waiting.toReversed()) exchange.send(200, '', exchange.target);
    for (const path of ['/1', '/2', '/3']) assert.equal((await raw.response()).body, path);
    await raw.closed;
    assert.deepEqual([raw.unread, waiting.length], ['', 3]);
  } finally {
    await listener.close();
  }
});
