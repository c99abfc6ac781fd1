// The cases of the listener contract about streamed responses: framing, back-pressure, and cuts. Run by listener.ts.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Exchange } from '#runtime/engine/http/listener.ts';
import { aborted, limits, textPlain, type Fact } from './listener-case.ts';

export function streamedResponseCases(fact: Fact): void {
  describe('a streamed response', () => {
    fact('is chunked, text and bytes alike', async (open) => {
      const { client } = await open((exchange) => {
        exchange.begin(200, textPlain);
        exchange.write('Zü');
        exchange.write(new Uint8Array([65, 66]));
        exchange.write('');
        setImmediate(() => {
          exchange.write('last');
          exchange.end();
        });
      });
      const raw = await client();
      for (let i = 0; i < 2; i++) {
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        const response = await raw.response();
        assert.equal(response.framing, 'chunked');
        assert.equal(Buffer.from(response.body, 'latin1').toString(), 'ZüABlast');
      }
    });

    fact('sends its head before the first chunk', async (open) => {
      let exchange: Exchange | null = null;
      const { client } = await open((opened) => {
        exchange = opened;
        opened.begin(200, 'x-early\x001\0');
      });
      const raw = await client();
      const arrived = new Promise((resolve) => raw.socket.once('data', resolve));
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await arrived;
      assert.match(raw.unread, /^HTTP\/1\.1 200 OK\r\n/);
      exchange!.write('late');
      exchange!.end();
      assert.equal((await raw.response()).body, 'late');
    });

    fact('without chunks is empty', async (open) => {
      const { client } = await open((exchange) => {
        exchange.begin(200, '');
        exchange.end();
      });
      const raw = await client();
      for (let i = 0; i < 2; i++) {
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.equal((await raw.response()).body, '');
      }
    });

    fact('with a content-length is framed by it', async (open) => {
      const { client } = await open((exchange) => {
        exchange.begin(200, 'content-length\x006\0');
        exchange.write('abc');
        setImmediate(() => {
          exchange.write('def');
          exchange.end();
        });
      });
      const raw = await client();
      for (let i = 0; i < 2; i++) {
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        const response = await raw.response();
        assert.deepEqual(
          [response.framing, response.body, response.all('content-length')],
          ['length', 'abcdef', ['6']],
        );
      }
    });

    fact('with fewer bytes than its content-length cuts the connection', async (open) => {
      const { client } = await open((exchange) => {
        exchange.begin(200, 'content-length\x0010\0');
        exchange.write('abc');
        setImmediate(() => exchange.end());
      });
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await assert.rejects(raw.response(), /connection ended/);
    });

    fact('with more bytes than its content-length never sends more, and cuts the connection', async (open) => {
      const { client } = await open((exchange) => {
        exchange.begin(200, 'content-length\x004\0');
        exchange.write('abc');
        setImmediate(() => {
          exchange.write('HTTP/1.1 200 OK\r\n');
          exchange.end();
        });
      });
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await raw.closed;
      assert.ok(raw.unread === '' || raw.unread.endsWith('\r\n\r\nabc'), raw.unread);
    });

    fact('to HEAD ends without a body', async (open) => {
      const blocks = ['', 'content-length\x007\0'];
      const { client } = await open((exchange) => {
        exchange.begin(200, blocks.shift()!);
        assert.equal(exchange.write('ignored'), true);
        exchange.end();
      });
      const raw = await client();
      raw.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
      assert.equal((await raw.response('HEAD')).status, 200);
      raw.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
      assert.deepEqual((await raw.response('HEAD')).all('content-length'), ['7']);
      assert.equal(raw.unread, '');
    });

    fact('of status 204 has no body', async (open) => {
      const { client } = await open((exchange) => {
        exchange.begin(204, '');
        exchange.write('ignored');
        exchange.end();
      });
      const raw = await client();
      for (let i = 0; i < 2; i++) {
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        const response = await raw.response();
        assert.deepEqual([response.status, response.all('transfer-encoding'), raw.unread], [204, [], '']);
      }
    });

    fact('that is destroyed is seen as truncated', async (open) => {
      const { client } = await open((exchange) => {
        exchange.begin(200, '');
        exchange.write('abc');
        setImmediate(() => exchange.destroy());
      });
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await assert.rejects(raw.response(), /connection ended/);
    });

    fact('to HTTP/1.0 ends with the connection', async (open) => {
      const { client } = await open((exchange) => {
        exchange.begin(200, '');
        exchange.write('abc');
        exchange.end();
      });
      const raw = await client();
      raw.send('GET / HTTP/1.0\r\nHost: a\r\n\r\n');
      const response = await raw.response();
      assert.deepEqual([response.framing, response.body], ['close', 'abc']);
    });

    fact('tells a fast worker to wait, then to go on, and arrives whole', async (open) => {
      const chunk = Buffer.alloc(64 * 1024, 'x');
      const total = 400;
      let refusals = 0;
      let drains = 0;
      let ahead = 0;
      let aheadMax = 0;
      const { client } = await open((exchange) => {
        let sent = 0;
        const pump = (): void => {
          while (sent < total) {
            sent++;
            ahead += chunk.length;
            if (!exchange.write(chunk)) {
              refusals++;
              aheadMax = Math.max(aheadMax, ahead);
              return;
            }
          }
          exchange.end();
        };
        exchange.onDrain = () => {
          drains++;
          ahead = 0;
          pump();
        };
        exchange.begin(200, '');
        pump();
      });
      const raw = await client();
      raw.socket.pause();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      setTimeout(() => raw.socket.resume(), 50);
      assert.equal((await raw.response()).body.length, total * chunk.length);
      assert.ok(refusals > 0);
      assert.equal(drains, refusals);
      // What the kernel takes on the loopback, and one buffer's worth.
      assert.ok(aheadMax < 10_000_000, `${aheadMax} bytes were accepted`);
    });

    fact('with a content-length obeys back-pressure as well', async (open) => {
      const chunk = Buffer.alloc(256 * 1024, 'y');
      let refusals = 0;
      const { client } = await open((exchange) => {
        let sent = 0;
        const pump = (): void => {
          while (sent < 60) {
            sent++;
            if (!exchange.write(chunk)) {
              refusals++;
              return;
            }
          }
          exchange.end();
        };
        exchange.onDrain = pump;
        exchange.begin(200, `content-length\0${60 * chunk.length}\0`);
        pump();
      });
      const raw = await client();
      raw.socket.pause();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      setTimeout(() => raw.socket.resume(), 50);
      const { body } = await raw.response();
      assert.equal(body.length, 60 * chunk.length);
      assert.ok(refusals > 0);
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      assert.equal((await raw.response()).body.length, 60 * chunk.length);
    });

    fact('is cut when its client stops taking it', async (open) => {
      let gone: Promise<void> | null = null;
      const { client } = await open(
        (exchange) => {
          gone = aborted(exchange);
          exchange.begin(200, '');
          const pump = (): void => {
            while (exchange.write(Buffer.alloc(1024 * 1024)));
          };
          exchange.onDrain = pump;
          pump();
        },
        { limits: { ...limits, stallMs: 200 } },
      );
      const raw = await client();
      raw.socket.pause();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      while (gone === null) await new Promise((resolve) => setImmediate(resolve));
      await gone;
    });
  });
}
