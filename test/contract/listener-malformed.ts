// The cases of the listener contract about requests that are refused or cut: over a limit, too slow, or malformed. Run
// by listener.ts.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Exchange } from '#runtime/engine/http/listener.ts';
import { limits, ok, refusedBy, type Fact } from './listener-case.ts';

export function malformedCases(fact: Fact): void {
  const refused = refusedBy(fact);

  describe('limits', () => {
    refused('a URL over 16 KB is answered 414', `GET /${'x'.repeat(16 * 1024)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414);

    fact('a URL of exactly 16 KB is handed over', async (open) => {
      const { client } = await open((exchange) => exchange.send(200, '', String(exchange.target.length)));
      const raw = await client();
      raw.send(`GET /${'x'.repeat(16 * 1024 - 1)} HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.equal((await raw.response()).body, '16384');
    });

    refused(
      'one header over 128 KB is answered 431',
      `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${'x'.repeat(128 * 1024)}\r\n\r\n`,
      431,
    );
    refused(
      'headers over 128 KB together are answered 431',
      `GET / HTTP/1.1\r\nHost: a\r\n${`X-A: ${'x'.repeat(1000)}\r\n`.repeat(132)}\r\n`,
      431,
    );
    refused(
      'headers without an end are answered 431',
      `GET / HTTP/1.1\r\nHost: a\r\n${`X-A: ${'x'.repeat(1000)}\r\n`.repeat(400)}`,
      431,
    );

    fact('headers of 120 KB are handed over', async (open) => {
      const { client } = await open((exchange) => exchange.send(200, '', String(exchange.header('x-a')!.length)));
      const raw = await client();
      raw.send(`GET / HTTP/1.1\r\nHost: a\r\nX-A: ${'x'.repeat(120_000)}\r\n\r\n`);
      assert.equal((await raw.response()).body, '120000');
    });

    refused(
      'a declared body over the limit is answered 413',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\nabc',
      413,
    );

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
    for (const host of [
      'a:65536',
      'a/b',
      'a b',
      'a@b',
      'a?b',
      'a#b',
      'a\\b',
      '',
      ':80',
      '[::1',
      'a:b',
      'b\xfccher.example',
    ]) {
      refused(`with the host ${JSON.stringify(host)} is answered 400`, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`, 400);
    }
    refused('that is not HTTP is answered 400', 'hello world, this is no HTTP\r\n\r\n', [400, 505]);
    refused('of TLS is answered 400 or 505', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', [400, 505]);
    refused('without a version is answered 400', 'GET /\r\nHost: a\r\n\r\n', [400, 505]);
    refused('of another version is answered 400 or 505', 'GET / HTTP/3.7\r\nHost: a\r\n\r\n', [400, 505]);
    refused('of HTTP/2 is answered 400 or 505', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400, 505]);
    refused('with a relative target is answered 400 or 505', 'GET a HTTP/1.1\r\nHost: a\r\n\r\n', [400, 505]);
    refused(
      'with a control character in the target is answered 400 or 505',
      'GET /a\x01b HTTP/1.1\r\nHost: a\r\n\r\n',
      [400, 505],
    );
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
      'with two content-lengths, the first of them 0, is answered 400',
      `${post}Content-Length: 0\r\nContent-Length: 2\r\n\r\nab`,
      400,
    );
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
}
