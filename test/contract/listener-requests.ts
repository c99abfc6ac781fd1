// The cases of the listener contract about well-formed requests without a body: what the handler is told of them. Run
// by listener.ts.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { ok, type Fact } from './listener-case.ts';
import type { RawClient } from './raw-client.ts';

export function requestCases(fact: Fact): void {
  describe('a request', () => {
    fact('is handed over with method, target, host and its headers in arrival order', async (open) => {
      let seen: unknown;
      const { client } = await open((exchange) => {
        const { method, target, host, headerBlock, bodyBytes, remoteAddress } = exchange;
        seen = { method, target, host, headerBlock, bodyBytes, remoteAddress };
        ok(exchange);
      });
      const raw = await client();
      raw.send('GET /a%20b?x=1&y=%2F HTTP/1.1\r\nHost: Shop.LocalHost:4001\r\nX-Second: 2\r\nAccept:  */* \r\n\r\n');
      await raw.response();
      assert.deepEqual(seen, {
        method: 'GET',
        target: '/a%20b?x=1&y=%2F',
        host: 'shop.localhost:4001',
        headerBlock: 'host\0Shop.LocalHost:4001\0x-second\x002\0accept\0*/*\0',
        bodyBytes: 0,
        remoteAddress: '127.0.0.1',
      });
    });

    fact('names the address of its own client, whoever else is or was connected from the same port', async (open) => {
      const { client } = await open((exchange) => exchange.send(200, '', exchange.remoteAddress));
      const askedBy = async (raw: RawClient): Promise<string> => {
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        return (await raw.response()).body;
      };
      const first = await client();
      assert.equal(await askedBy(first), '127.0.0.1');
      const { localPort } = first.socket;
      const second = await client({ localAddress: '127.0.0.2', localPort: localPort! });
      assert.deepEqual(
        [await askedBy(second), await askedBy(first), await askedBy(second)],
        ['127.0.0.2', '127.0.0.1', '127.0.0.2'],
      );
      second.socket.resetAndDestroy();
      const third = await client({ localAddress: '127.0.0.3', localPort: localPort! });
      const fourth = await client();
      assert.deepEqual(
        [await askedBy(third), await askedBy(fourth), await askedBy(first)],
        ['127.0.0.3', '127.0.0.1', '127.0.0.1'],
      );
    });

    fact('keeps an empty query and a target of many slashes as received', async (open) => {
      const targets: string[] = [];
      const { client } = await open((exchange) => {
        targets.push(exchange.target);
        ok(exchange);
      });
      const raw = await client();
      for (const target of ['//a//b', '/?', '/a?b?c', '/..%2f/x/../y']) {
        raw.send(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
        await raw.response();
      }
      assert.deepEqual(targets, ['//a//b', '/?', '/a?b?c', '/..%2f/x/../y']);
    });

    fact('in absolute form is handed over in origin form, with the host of the URL', async (open) => {
      const seen: string[] = [];
      const { client } = await open((exchange) => {
        seen.push(exchange.host, exchange.target);
        ok(exchange);
      });
      const raw = await client();
      raw.send('GET http://Real.example/a?b HTTP/1.1\r\nHost: other.example\r\n\r\n');
      await raw.response();
      raw.send('GET http://real.example?b HTTP/1.1\r\nHost: other.example\r\n\r\n');
      await raw.response();
      assert.deepEqual(seen, ['real.example', '/a?b', 'real.example', '/?b']);
    });

    fact('keeps several headers of one name apart', async (open) => {
      let block = '';
      let first: string | null = '';
      const { client } = await open((exchange) => {
        block = exchange.headerBlock;
        first = exchange.header('x-tag');
        ok(exchange);
      });
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\nX-Tag: one\r\nX-Tag: two\r\n\r\n');
      await raw.response();
      assert.equal(block, 'host\0a\0x-tag\0one\0x-tag\0two\0');
      assert.equal(first, 'one');
    });

    fact('has null for a header that it does not carry, also when a value has that name', async (open) => {
      let value: string | null = '';
      const { client } = await open((exchange) => {
        value = exchange.header('x-none');
        ok(exchange);
      });
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\nX-A: x-none\r\nX-B: c\r\n\r\n');
      await raw.response();
      assert.equal(value, null);
    });

    fact('keeps the bytes of a Latin-1 header value', async (open) => {
      let value: string | null = '';
      const { client } = await open((exchange) => {
        value = exchange.header('x-name');
        ok(exchange);
      });
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\nX-Name: Andr\xe9\r\n\r\n');
      await raw.response();
      assert.equal(value, 'Andr\xe9');
    });

    fact('loses its hop-by-hop headers', async (open) => {
      let block = '';
      const { client } = await open((exchange) => {
        block = exchange.headerBlock;
        ok(exchange);
      });
      const raw = await client();
      raw.send(
        'GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nKeep-Alive: timeout=9\r\nProxy-Connection: x\r\nTE: trailers\r\nTrailer: x\r\nX-Kept: 1\r\n\r\n',
      );
      await raw.response();
      assert.equal(block, 'host\0a\0x-kept\x001\0');
    });

    fact('of every method arrives as that method', async (open) => {
      const methods: string[] = [];
      const { client } = await open((exchange) => {
        methods.push(exchange.method);
        ok(exchange);
      });
      const raw = await client();
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        raw.send(`${method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`);
        await raw.response(method);
      }
      assert.deepEqual(methods, ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
    });

    fact('that asks for an upgrade is a normal exchange', async (open) => {
      let block = '';
      const { client } = await open((exchange) => {
        block = exchange.headerBlock;
        ok(exchange);
      });
      const raw = await client();
      raw.send(
        'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n',
      );
      assert.equal((await raw.response()).body, 'ok');
      assert.equal(block, 'host\0a\0sec-websocket-version\x0013\0');
    });

    fact('may come byte by byte', async (open) => {
      const { client } = await open(ok);
      const raw = await client();
      raw.socket.setNoDelay(true);
      for (const byte of 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n') {
        raw.send(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal((await raw.response()).status, 200);
    });

    fact('with 100 headers and with 1,000 headers is handed over whole', async (open) => {
      const counts: number[] = [];
      const { client } = await open((exchange) => {
        counts.push(exchange.headerBlock.split('\0').length - 1);
        ok(exchange);
      });
      const raw = await client();
      for (const count of [99, 999]) {
        raw.send(`GET / HTTP/1.1\r\nHost: a\r\n${'X-A: 1\r\n'.repeat(count)}\r\n`);
        await raw.response();
      }
      assert.deepEqual(counts, [200, 2000]);
    });
  });
}
