// The cases of the listener contract about request bodies: framing, back-pressure, announced, unread and abandoned
// ones. Run by listener.ts.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { aborted, bodyOf, limits, ok, type Fact } from './listener-case.ts';

export function bodyCases(fact: Fact): void {
  describe('a request body', () => {
    for (const [title, first, second, length] of [
      ['with a content-length arrives whole, its length known before', 'Content-Length: 11\r\n\r\nhello', ' world', 11],
      [
        'in chunks arrives whole, its length unknown before',
        'Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n',
        '6\r\n world\r\n0\r\n\r\n',
        -1,
      ],
    ] as const) {
      fact(title, async (open) => {
        let bytes = 0;
        const { client } = await open(async (exchange) => {
          bytes = exchange.bodyBytes;
          exchange.send(200, '', await bodyOf(exchange));
        });
        const raw = await client();
        for (let i = 0; i < 2; i++) {
          raw.send(`POST / HTTP/1.1\r\nHost: a\r\n${first}`);
          raw.send(second);
          assert.equal((await raw.response()).body, 'hello world');
        }
        assert.equal(bytes, length);
      });
    }

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
        raw.send(
          'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n',
        );
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

    fact('of which the reader has had enough lets the connection be used again', async (open) => {
      const { client } = await open((exchange) => {
        if (exchange.method === 'GET') return exchange.send(200, '', 'next');
        exchange.readBody({
          chunk: () => {
            setImmediate(() => exchange.send(200, '', 'enough'));
            return false;
          },
          end: () => {},
        });
      });
      const raw = await client();
      raw.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234');
      assert.equal((await raw.response()).body, 'enough');
      raw.send('56789GET /next HTTP/1.1\r\nHost: a\r\n\r\n');
      assert.equal((await raw.response()).body, 'next');
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
}
