// The conformance suite of the listener contract (runtime/server/listener.ts), on raw sockets. Run over each technology by
// listener-node.test.ts and listener-uws.test.ts; what a technology cannot do is a skip with its reason there.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Exchange, Listener, OpenListener } from '#runtime/server/listener.ts';
import { aborted, bodyOf, limits, ok, type Fact } from './listener-case.ts';
import { responseCases } from './listener-responses.ts';
import { webSocketCases } from './listener-websocket.ts';
import { connectRaw, type RawClient } from './raw-client.ts';

/** A case that a technology does not pass, by its title. */
export interface Skip {
  readonly title: string;
  readonly reason: string;
}

export function listenerSuite(parts: { open: OpenListener; technology: 'node' | 'uws'; skip: readonly Skip[] }): void {
  const unused = new Set(parts.skip.map(({ title }) => title));

  /** One case with a listener of its own. */
  const fact: Fact = (title, run) => {
    const skip = parts.skip.find((candidate) => candidate.title === title);
    unused.delete(title);
    test(title, { ...(skip && { skip: skip.reason }), timeout: 20_000 }, async () => {
      const listeners: Listener[] = [];
      const clients: RawClient[] = [];
      try {
        await run(async (onExchange, options) => {
          const listener = await parts.open({ port: 0, host: '127.0.0.1', limits, onExchange, ...options });
          listeners.push(listener);
          return {
            listener,
            async client() {
              const client = await connectRaw(listener.port);
              clients.push(client);
              return client;
            },
          };
        });
      } finally {
        for (const client of clients) client.socket.destroy();
        for (const listener of listeners) await listener.close();
      }
    });
  };

  /** A request that is refused before the handler sees it. */
  function refused(title: string, request: string, status: number | 'closed' | readonly number[]): void {
    fact(title, async (open) => {
      let exchanges = 0;
      const { client } = await open((exchange) => {
        exchanges++;
        ok(exchange);
      });
      const raw = await client();
      raw.send(request);
      if (status === 'closed') await raw.closed;
      else {
        const response = await raw.response();
        assert.ok(([] as number[]).concat(status).includes(response.status), `answered ${response.status}`);
        raw.socket.end();
        await raw.closed;
      }
      assert.equal(exchanges, 0);
    });
  }

  describe(`${parts.technology} listener`, () => {
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
        raw.send('GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n');
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

    responseCases(fact);

    describe('an upgrade', () => webSocketCases(fact));

    describe('a request body', () => {
      fact('with a content-length arrives whole, its length known before', async (open) => {
        let bytes = 0;
        const { client } = await open(async (exchange) => {
          bytes = exchange.bodyBytes;
          exchange.send(200, '', await bodyOf(exchange));
        });
        const raw = await client();
        for (let i = 0; i < 2; i++) {
          raw.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello');
          raw.send(' world');
          assert.equal((await raw.response()).body, 'hello world');
        }
        assert.equal(bytes, 11);
      });

      fact('in chunks arrives whole, its length unknown before', async (open) => {
        let bytes = 0;
        const { client } = await open(async (exchange) => {
          bytes = exchange.bodyBytes;
          exchange.send(200, '', await bodyOf(exchange));
        });
        const raw = await client();
        for (let i = 0; i < 2; i++) {
          raw.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n');
          raw.send('6\r\n world\r\n0\r\n\r\n');
          assert.equal((await raw.response()).body, 'hello world');
        }
        assert.equal(bytes, -1);
      });

      fact('in chunks loses their extensions', async (open) => {
        const { client } = await open(async (exchange) => exchange.send(200, '', await bodyOf(exchange)));
        const raw = await client();
        raw.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\n\r\n');
        assert.equal((await raw.response()).body, 'hello');
      });

      fact('in chunks loses its trailers', async (open) => {
        const { client } = await open(async (exchange) => exchange.send(200, '', await bodyOf(exchange)));
        const raw = await client();
        for (let i = 0; i < 2; i++) {
          raw.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n');
          assert.equal((await raw.response()).body, 'hello');
        }
      });

      fact('that is empty ends at once', async (open) => {
        const { client } = await open(async (exchange) => exchange.send(200, '', `<${await bodyOf(exchange)}>`));
        const raw = await client();
        raw.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n');
        assert.equal((await raw.response()).body, '<>');
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.equal((await raw.response()).body, '<>');
        raw.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n');
        assert.equal((await raw.response()).body, '<>');
      });

      fact('may be read later than it arrives, and its bytes kept', async (open) => {
        const { client } = await open((exchange) => {
          setImmediate(() => setImmediate(async () => exchange.send(200, '', await bodyOf(exchange))));
        });
        const raw = await client();
        raw.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n${'ab'.repeat(25_000)}`);
        assert.equal((await raw.response()).body, 'ab'.repeat(25_000));
      });

      fact('stops coming while the reader pauses, and comes whole after it resumes', async (open) => {
        const size = 24_000_000;
        let received = 0;
        let chunksWhilePaused = 0;
        let paused: (() => void) | null = null;
        const pausedOnce = new Promise<void>((resolve) => (paused = resolve));
        let resume: (() => void) | null = null;
        const { client } = await open(
          (exchange) => {
            let waits = true;
            exchange.readBody({
              chunk(bytes) {
                received += bytes.byteLength;
                if (resume !== null && waits) chunksWhilePaused++;
                if (waits && resume === null) {
                  resume = () => {
                    waits = false;
                    exchange.resumeBody();
                  };
                  paused!();
                }
                return !waits;
              },
              end: () => exchange.send(200, '', String(received)),
            });
          },
          { limits: { ...limits, bodyBytesMax: size } },
        );
        const raw = await client();
        raw.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`);
        raw.send(Buffer.alloc(size, 'z'));
        await pausedOnce;
        for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve));
        assert.equal(chunksWhilePaused, 0);
        assert.ok(raw.socket.writableLength > 0, 'the client is held back');
        resume!();
        assert.equal((await raw.response()).body, String(size));
      });

      fact('is echoed while it arrives', async (open) => {
        const size = 5_000_000;
        const { client } = await open(
          (exchange) => {
            exchange.begin(200, '');
            exchange.onDrain = () => exchange.resumeBody();
            exchange.readBody({ chunk: (bytes) => exchange.write(bytes), end: () => exchange.end() });
          },
          { limits: { ...limits, bodyBytesMax: size } },
        );
        const raw = await client();
        raw.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`);
        raw.send(Buffer.alloc(size, 'q'));
        assert.equal((await raw.response()).body, 'q'.repeat(size));
        raw.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi');
        assert.equal((await raw.response()).body, 'hi');
      });

      fact('that the client announces is asked for when the handler reads it', async (open) => {
        const { client } = await open(async (exchange) => exchange.send(200, '', await bodyOf(exchange)));
        const raw = await client();
        raw.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
        assert.equal((await raw.response()).status, 100);
        raw.send('hi');
        assert.equal((await raw.response()).body, 'hi');
      });

      fact('that the client announces is not asked for when the handler answers without it', async (open) => {
        const { client } = await open((exchange) => exchange.send(403, '', 'no'));
        const raw = await client();
        raw.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
        const response = await raw.response();
        assert.deepEqual([response.status, response.all('connection')], [403, ['close']]);
        raw.socket.end();
        await raw.closed;
      });

      fact('that stays small and unread lets the connection be used again', async (open) => {
        const { client } = await open(ok);
        const raw = await client();
        raw.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234');
        assert.equal((await raw.response()).body, 'ok');
        raw.send('56789GET /next HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.equal((await raw.response()).body, 'ok');
      });

      fact('that is large and unread does not keep the answer from the client', async (open) => {
        const { client } = await open(ok, { limits: { ...limits, bodyBytesMax: 50_000_000 } });
        const raw = await client();
        raw.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n');
        raw.send(Buffer.alloc(1_000_000));
        assert.equal((await raw.response()).body, 'ok');
        await raw.closed;
      });

      fact('of which the client goes away tells the handler', async (open) => {
        let gone: Promise<void> | null = null;
        let ends = 0;
        const reading = Promise.withResolvers<void>();
        const { client } = await open((exchange) => {
          gone = aborted(exchange);
          exchange.readBody({
            chunk: () => {
              reading.resolve();
              return true;
            },
            end: () => ends++,
          });
        });
        const raw = await client();
        raw.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234');
        await reading.promise;
        raw.socket.destroy();
        await gone;
        assert.equal(ends, 0);
      });

      fact('that stops coming is cut', async (open) => {
        let gone: Promise<void> | null = null;
        const { client } = await open(
          (exchange) => {
            gone = aborted(exchange);
            exchange.readBody({ chunk: () => true, end: () => {} });
          },
          { limits: { ...limits, stallMs: 200 } },
        );
        const raw = await client();
        raw.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234');
        await raw.closed;
        await gone;
      });
    });

    describe('limits', () => {
      refused('a URL over 16 KB is answered 414', `GET /${'x'.repeat(16 * 1024)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414);

      fact('a URL of exactly 16 KB is handed over', async (open) => {
        const { client } = await open((exchange) => exchange.send(200, '', String(exchange.target.length)));
        const raw = await client();
        raw.send(`GET /${'x'.repeat(16 * 1024 - 1)} HTTP/1.1\r\nHost: a\r\n\r\n`);
        assert.equal((await raw.response()).body, '16384');
      });

      refused('one header over 128 KB is answered 431', `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${'x'.repeat(128 * 1024)}\r\n\r\n`, 431);
      refused(
        'headers over 128 KB together are answered 431',
        `GET / HTTP/1.1\r\nHost: a\r\n${`X-A: ${'x'.repeat(1000)}\r\n`.repeat(132)}\r\n`,
        431,
      );
      refused('headers without an end are answered 431', `GET / HTTP/1.1\r\nHost: a\r\n${`X-A: ${'x'.repeat(1000)}\r\n`.repeat(400)}`, 431);

      fact('headers of 120 KB are handed over', async (open) => {
        const { client } = await open((exchange) => exchange.send(200, '', String(exchange.header('x-a')!.length)));
        const raw = await client();
        raw.send(`GET / HTTP/1.1\r\nHost: a\r\nX-A: ${'x'.repeat(120_000)}\r\n\r\n`);
        assert.equal((await raw.response()).body, '120000');
      });

      refused('a declared body over the limit is answered 413', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\nabc', 413);

      fact('an undeclared body over the limit is answered 413, and the handler told', async (open) => {
        let aborts = 0;
        const { client } = await open((exchange) => {
          exchange.onAbort = () => aborts++;
          exchange.readBody({ chunk: () => true, end: () => ok(exchange) });
        });
        const raw = await client();
        raw.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
        for (let i = 0; i < 3; i++) raw.send(`c350\r\n${'x'.repeat(50_000)}\r\n`);
        const response = await raw.response();
        assert.equal(response.status, 413);
        assert.equal(response.body, 'The request body is larger than 100000 bytes\n');
        await raw.closed;
        assert.equal(aborts, 1);
      });

      fact('an undeclared body over the limit cuts a response that has begun', async (open) => {
        let aborts = 0;
        const { client } = await open((exchange) => {
          exchange.onAbort = () => aborts++;
          exchange.begin(200, '');
          exchange.write('begun');
          exchange.readBody({ chunk: () => true, end: () => exchange.end() });
        });
        const raw = await client();
        raw.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
        for (let i = 0; i < 3; i++) raw.send(`c350\r\n${'x'.repeat(50_000)}\r\n`);
        await assert.rejects(raw.response(), /connection ended/);
        assert.equal(aborts, 1);
      });

      fact('headers that do not arrive in time close the connection', async (open) => {
        const { client } = await open(ok, { limits: { ...limits, headersMs: 200 } });
        const raw = await client();
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n');
        await raw.closed;
        assert.match(raw.unread, /^(?:HTTP\/1\.1 408 |$)/);
      });

      fact('a connection idle for longer than the limit is closed', async (open) => {
        const { client } = await open(ok, { limits: { ...limits, idleMs: 200 } });
        const raw = await client();
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        const response = await raw.response();
        assert.ok(!response.all('connection').includes('close'));
        await raw.closed;
      });
    });

    describe('a malformed request', () => {
      const get = 'GET / HTTP/1.1\r\nHost: a\r\n';
      const post = 'POST / HTTP/1.1\r\nHost: a\r\n';
      refused('without Host is answered 400', 'GET / HTTP/1.1\r\nX-A: 1\r\n\r\n', 400);
      refused('with two Host headers is answered 400', `${get}Host: b\r\n\r\n`, 400);
      for (const host of ['a:65536', 'a/b', 'a b', 'a@b', 'a?b', 'a#b', 'a\\b', '', ':80', '[::1', 'a:b', 'b\xfccher.example']) {
        refused(`with the host ${JSON.stringify(host)} is answered 400`, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`, 400);
      }
      refused('that is not HTTP is answered 400', 'hello world, this is no HTTP\r\n\r\n', [400, 505]);
      refused('of TLS is answered 400 or 505', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', [400, 505]);
      refused('without a version is answered 400', 'GET /\r\nHost: a\r\n\r\n', [400, 505]);
      refused('of another version is answered 400 or 505', 'GET / HTTP/3.7\r\nHost: a\r\n\r\n', [400, 505]);
      refused('of HTTP/2 is answered 400 or 505', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400, 505]);
      refused('with a relative target is answered 400 or 505', 'GET a HTTP/1.1\r\nHost: a\r\n\r\n', [400, 505]);
      refused('with a control character in the target is answered 400 or 505', 'GET /a\x01b HTTP/1.1\r\nHost: a\r\n\r\n', [400, 505]);
      refused('with NUL in the target is answered 400 or 505', 'GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n', [400, 505]);
      refused('with a space in a header name is answered 400', `${get}X A: 1\r\n\r\n`, 400);
      refused('with a space before the colon is answered 400', `${get}X-A : 1\r\n\r\n`, 400);
      refused('with an empty header name is answered 400', `${get}: 1\r\n\r\n`, 400);
      refused('with a folded header is answered 400', `${get}X-A: 1\r\n  folded: 2\r\n\r\n`, 400);
      refused('with NUL in a header value is answered 400', `${get}X-A: a\0b\r\n\r\n`, 400);
      refused('with a control character in a header value is answered 400', `${get}X-A: a\x01b\r\n\r\n`, 400);
      refused('with a lone CR in a header value is answered 400', `${get}X-A: a\rb\r\n\r\n`, 400);
      refused('with a negative content-length is answered 400', `${post}Content-Length: -1\r\n\r\n`, 400);
      refused('with a signed content-length is answered 400', `${post}Content-Length: +1\r\n\r\na`, 400);
      refused('with a hexadecimal content-length is answered 400', `${post}Content-Length: 0x1\r\n\r\na`, 400);
      refused('with an empty content-length is answered 400', `${post}Content-Length: \r\n\r\n`, 400);
      refused(
        'with an endless content-length is answered 400 or 413',
        `${post}Content-Length: 99999999999999999999999\r\n\r\n`,
        [400, 413],
      );
      refused('with two content-lengths is answered 400', `${post}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, 400);
      refused(
        'with content-length and transfer-encoding is refused',
        `${post}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        400,
      );
      refused(
        'with transfer-encoding and content-length is refused',
        `${post}Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n`,
        400,
      );
      refused('with another transfer coding is answered 400', `${post}Transfer-Encoding: gzip\r\n\r\n`, 400);
      refused(
        'with another transfer coding before chunked is answered 400',
        `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
        400,
      );
      refused(
        'with transfer-encoding twice is answered 400',
        `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        400,
      );

      for (const [what, body] of [
        ['a chunk size that is no number', 'zz\r\nhello\r\n0\r\n\r\n'],
        ['a chunk longer than its size', '3\r\nhello\r\n0\r\n\r\n'],
        ['an endless chunk size', 'fffffffffffffffffffff\r\nhello\r\n0\r\n\r\n'],
      ] as const) {
        fact(`with ${what} ends in an error, and the handler is told`, async (open) => {
          const gone = Promise.withResolvers<void>();
          const { client } = await open((exchange) => {
            exchange.onAbort = () => gone.resolve();
            exchange.readBody({ chunk: () => true, end: () => assert.fail('the body ended well') });
          });
          const raw = await client();
          raw.send(`${post}Transfer-Encoding: chunked\r\n\r\n${body}`);
          raw.socket.on('end', () => raw.socket.end());
          await raw.closed;
          assert.match(raw.unread, /^(?:HTTP\/1\.1 4\d\d |$)/);
          await gone.promise;
        });
      }

      fact('after a good one does not disturb its answer', async (open) => {
        const { client } = await open((exchange) => setImmediate(() => ok(exchange)));
        const raw = await client();
        raw.send(`${get}\r\ngarbage\r\n\r\n`);
        const response = await raw.response();
        assert.deepEqual([response.status, response.body], [200, 'ok']);
        await raw.closed;
      });

      fact('whose body turns out malformed ends the connection after the answers to those before it', async (open) => {
        for (const order of ['as they came', 'the other way round'] as const) {
          const waiting: Exchange[] = [];
          const { client } = await open((exchange) => {
            waiting.push(exchange);
            // The third has a body that the parser gives up on in this very turn.
            if (waiting.length === 2)
              setImmediate(() => {
                for (const each of order === 'as they came' ? waiting.slice(0, 2) : waiting.slice(0, 2).reverse())
                  each.send(200, '', each.target);
              });
          });
          const raw = await client();
          const two = ['/1', '/2'].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join('');
          raw.send(`${two}${post}Transfer-Encoding: chunked\r\n\r\n5,\r\nhello\r\n0\r\n\r\n`);
          raw.socket.on('end', () => raw.socket.end());
          for (const path of ['/1', '/2']) assert.equal((await raw.response()).body, path);
          await raw.closed;
        }
      });
    });

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
        assert.deepEqual([response.body, response.all('connection').map((value) => value.toLowerCase())], ['ok', ['close']]);
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
        const { client } = await open(async (exchange) => exchange.send(200, '', `${exchange.target}:${await bodyOf(exchange)}`));
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

    describe('the listener', () => {
      fact('says what it is and on which port', async (open) => {
        const { listener } = await open(ok);
        assert.equal(listener.technology, parts.technology);
        assert.ok(listener.port > 0);
      });

      fact('refuses a port that another one has', async (open) => {
        const { listener } = await open(ok);
        await assert.rejects(
          parts.open({ port: listener.port, host: '127.0.0.1', limits, onExchange: ok }),
          (error: NodeJS.ErrnoException) => error.code === 'EADDRINUSE',
        );
      });

      fact('shares a port that both open for sharing', async (open) => {
        const first = await open(ok, { reusePort: true });
        const second = await open(ok, { reusePort: true, port: first.listener.port });
        assert.equal(second.listener.port, first.listener.port);
        const raw = await second.client();
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.equal((await raw.response()).body, 'ok');
      });

      fact('drains: running requests finish and say close, new connections are refused', async (open) => {
        const arrived = Promise.withResolvers<Exchange>();
        const { client, listener } = await open((exchange) => arrived.resolve(exchange));
        const raw = await client();
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        const exchange = await arrived.promise;
        const drained = listener.drain(10_000);
        await assert.rejects(connectRaw(listener.port), /ECONNREFUSED/);
        ok(exchange);
        const response = await raw.response();
        assert.deepEqual([response.body, response.all('connection').map((value) => value.toLowerCase())], ['ok', ['close']]);
        await drained;
        await raw.closed;
      });

      fact('drains: idle and unused connections are closed', async (open) => {
        const { client, listener } = await open(ok);
        const unusedClient = await client();
        const idle = await client();
        idle.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        await idle.response();
        await listener.drain(10_000);
        await idle.closed;
        await unusedClient.closed;
      });

      fact('drains: a stream that began before ends whole', async (open) => {
        const begun = Promise.withResolvers<Exchange>();
        const { client, listener } = await open((exchange) => {
          exchange.begin(200, '');
          exchange.write('one ');
          begun.resolve(exchange);
        });
        const raw = await client();
        const arrived = new Promise((resolve) => raw.socket.once('data', resolve));
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        const exchange = await begun.promise;
        await arrived;
        const drained = listener.drain(10_000);
        exchange.write('two');
        exchange.end();
        assert.equal((await raw.response()).body, 'one two');
        await drained;
      });

      fact('drains: what is not done at the deadline is cut', async (open) => {
        let aborts = 0;
        const arrived = Promise.withResolvers<void>();
        const { client, listener } = await open((exchange) => {
          exchange.onAbort = () => aborts++;
          arrived.resolve();
        });
        const raw = await client();
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        await arrived.promise;
        await listener.drain(100);
        await raw.closed;
        assert.equal(aborts, 1);
      });

      fact('cuts everything when it is closed', async (open) => {
        let aborts = 0;
        const arrived = Promise.withResolvers<void>();
        const { client, listener } = await open((exchange) => {
          exchange.onAbort = () => aborts++;
          arrived.resolve();
        });
        const raw = await client();
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        await arrived.promise;
        await listener.close();
        await raw.closed;
        assert.equal(aborts, 1);
        await assert.rejects(connectRaw(listener.port), /ECONNREFUSED/);
      });
    });

    test('skips only cases that exist', () => assert.deepEqual([...unused], []));
  });
}
