// The cases of the listener contract about the listener itself: its port, how it drains, how it closes. Run by
// listener.ts.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Exchange, Listener, OpenListener } from '#runtime/engine/http/listener.ts';
import { limits, ok, type Fact } from './listener-case.ts';
import { connectRaw } from './raw-client.ts';

export function lifetimeCases(fact: Fact, options: { open: OpenListener; technology: Listener['technology'] }): void {
  describe('the listener', () => {
    fact('says what it is and on which port', async (open) => {
      const { listener } = await open(ok);
      assert.equal(listener.technology, options.technology);
      assert.ok(listener.port > 0);
    });

    fact('refuses a port that another one has', async (open) => {
      const { listener } = await open(ok);
      await assert.rejects(
        options.open({ port: listener.port, host: '127.0.0.1', limits, onExchange: ok }),
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
      assert.deepEqual(
        [response.body, response.all('connection').map((value) => value.toLowerCase())],
        ['ok', ['close']],
      );
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

    for (const [title, end] of [
      ['drains: what is not done at the deadline is cut', (listener: Listener) => listener.drain(100)],
      ['cuts everything when it is closed', (listener: Listener) => listener.close()],
    ] as const) {
      fact(title, async (open) => {
        let aborts = 0;
        const arrived = Promise.withResolvers<void>();
        const { client, listener } = await open((exchange) => {
          exchange.onAbort = () => aborts++;
          arrived.resolve();
        });
        const raw = await client();
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        await arrived.promise;
        await end(listener);
        await raw.closed;
        assert.equal(aborts, 1);
        await assert.rejects(connectRaw(listener.port), /ECONNREFUSED/);
      });
    }
  });
}
