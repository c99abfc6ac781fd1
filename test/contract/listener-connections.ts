// The cases of the listener contract about connections: reuse, pipelining, and clients that go away. Run by
// listener.ts.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Exchange } from '#runtime/engine/http/listener.ts';
import { bodyOf, limits, ok, type Fact } from './listener-case.ts';

export function connectionCases(fact: Fact): void {
  describe('a connection', () => {
    fact('is used for several requests in turn', async (open) => {
      let count = 0;
      const { client } = await open((exchange) => exchange.send(200, '', String(++count)));
      const raw = await client();
      for (let i = 1; i <= 20; i++) {
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.equal((await raw.response()).body, String(i));
      }
    });

    fact('is closed after a request that asks for it', async (open) => {
      const { client } = await open(ok);
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      const response = await raw.response();
      assert.deepEqual(
        [response.body, response.all('connection').map((value) => value.toLowerCase())],
        ['ok', ['close']],
      );
      await raw.closed;
    });

    fact('answers pipelined requests in order when they are answered at once', async (open) => {
      const { client } = await open((exchange) => exchange.send(200, '', exchange.target));
      const raw = await client();
      raw.send(['/1', '/2', '/3'].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
      for (const path of ['/1', '/2', '/3']) assert.equal((await raw.response()).body, path);
    });

    fact('answers pipelined requests in order when they are answered in another', async (open) => {
      const waiting: Exchange[] = [];
      const { client } = await open((exchange) => {
        waiting.push(exchange);
        if (waiting.length === 3) for (const each of waiting.toReversed()) each.send(200, '', each.target);
      });
      const raw = await client();
      raw.send(['/1', '/2', '/3'].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
      for (const path of ['/1', '/2', '/3']) assert.equal((await raw.response()).body, path);
    });

    fact('answers a request pipelined behind a body', async (open) => {
      const { client } = await open(async (exchange) =>
        exchange.send(200, '', `${exchange.target}:${await bodyOf(exchange)}`),
      );
      const raw = await client();
      raw.send('POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /2 HTTP/1.1\r\nHost: a\r\n\r\n');
      assert.equal((await raw.response()).body, '/1:abc');
      assert.equal((await raw.response()).body, '/2:');
    });

    fact('that the client ends before the answer tells the handler once', async (open) => {
      const arrived = Promise.withResolvers<Exchange>();
      let aborts = 0;
      const gone = Promise.withResolvers<void>();
      const { client } = await open((exchange) => {
        exchange.onAbort = () => {
          aborts++;
          gone.resolve();
        };
        arrived.resolve(exchange);
      });
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      const exchange = await arrived.promise;
      raw.socket.end();
      await gone.promise;
      exchange.send(200, '', 'too late');
      exchange.begin(200, '');
      assert.equal(exchange.write('too late'), true);
      exchange.end();
      exchange.readBody({ chunk: () => true, end: () => assert.fail('nothing ended well') });
      exchange.resumeBody();
      exchange.destroy();
      await raw.closed;
      assert.equal(aborts, 1);
    });

    fact('that the client cuts while a response streams tells the handler', async (open) => {
      const gone = Promise.withResolvers<void>();
      const { client } = await open((exchange) => {
        exchange.onAbort = () => gone.resolve();
        exchange.begin(200, '');
        exchange.write('first');
      });
      const raw = await client();
      const arrived = new Promise((resolve) => raw.socket.once('data', resolve));
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await arrived;
      raw.socket.resetAndDestroy();
      await gone.promise;
    });

    fact('above the limit takes the place of the one that has waited longest without a request', async (open) => {
      const { client } = await open(ok, { limits: { ...limits, connectionsMax: 3 } });
      const used = await client();
      used.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await used.response();
      const silent = await client();
      const other = await client();
      const next = await client();
      next.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      assert.equal((await next.response()).body, 'ok');
      await silent.closed;
      for (const raw of [used, other]) {
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.equal((await raw.response()).body, 'ok');
      }
    });

    fact('above the limit is closed where all others are being answered', async (open) => {
      const arrived = Promise.withResolvers<Exchange>();
      const { client } = await open((exchange) => arrived.resolve(exchange), {
        limits: { ...limits, connectionsMax: 1 },
      });
      const busy = await client();
      busy.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      const exchange = await arrived.promise;
      await (
        await client()
      ).closed;
      exchange.send(200, '', 'answered');
      assert.equal((await busy.response()).body, 'answered');
    });

    fact('that ends after the response tells the handler nothing', async (open) => {
      let aborts = 0;
      const { client } = await open((exchange) => {
        exchange.onAbort = () => aborts++;
        ok(exchange);
      });
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await raw.response();
      raw.socket.end();
      await raw.closed;
      const other = await client();
      other.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await other.response();
      assert.equal(aborts, 0);
    });
  });
}
