// Every listener closes a connection that has waited five seconds for a request, and not a second later: a proxy whose
// own idle time is shorter then never sends a request into a connection that is being closed.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Agent, request } from 'undici';
import { serveApi } from '#control/process/servers.ts';
import { closeIdleLate } from '#core/process/late-close.ts';
import { openLog } from '#core/log/log.ts';
import type { Exchange } from '#runtime/engine/http/listener.ts';
import { openNodeListener } from '#runtime/engine/http/listener-node.ts';
import { defaultLimits } from '#core/limits.ts';
import { listen } from '#web/serve/listener.ts';
import { openPort } from '#test/setup/private-port.ts';

/** Asks once, and notes the name when the other side closes the connection. */
async function askOnce(port: number, name: string, order: string[]): Promise<{ closed: Promise<unknown> }> {
  const socket = connect(port, '127.0.0.1');
  const closed = once(socket, 'close').then(() => order.push(name));
  socket.write('GET / HTTP/1.1\r\nhost: shop.localhost\r\n\r\n');
  await once(socket, 'data');
  socket.resume();
  return { closed };
}

test('the public port, the private port, the API and the web process close idle connections after 5 s, none in 6', async (t) => {
  const limits = { ...defaultLimits, idleMs: 5000 };
  const onExchange = (exchange: Exchange): void => exchange.send(200, '', 'x');
  const listener = await openNodeListener({ port: 0, host: '127.0.0.1', limits, onExchange });
  t.after(() => listener.close());
  const privatePort = await openPort(t, {});
  const api = await serveApi({ port: 0, host: '127.0.0.1', fetch: () => new Response('x') });
  t.after(() => api.close());
  const web = await listen({
    port: 0,
    host: '127.0.0.1',
    variable: 'UI_PORT',
    log: openLog('test', { LOG_LEVEL: 'silent' }),
    answer: async (_request, response) => void response.end('x'),
  });
  t.after(() => web.close());
  // As Node does by itself: its second more is the measure. All timers are of one process, which may stand still.
  const measure = createServer({ keepAliveTimeout: 5000, keepAliveTimeoutBuffer: 1000 }, (_request, response) =>
    response.end('x'),
  ).listen(0, '127.0.0.1');
  closeIdleLate(measure);
  await once(measure, 'listening');
  t.after(() => measure.close());
  const order: string[] = [];
  const asked = [
    await askOnce(listener.port, 'public', order),
    await askOnce(privatePort.port, 'private', order),
    await askOnce(api.port, 'api', order),
    await askOnce(web.port, 'web', order),
    await askOnce((measure.address() as AddressInfo).port, 'measure', order),
  ];
  await Promise.all(asked.map(({ closed }) => closed));
  // The four waits end within the same milliseconds, in any order; the measure's is a second longer.
  assert.deepEqual([...order.slice(0, 4).sort(), ...order.slice(4)], ['api', 'private', 'public', 'web', 'measure']);
});

test('through a proxy that gives connections up sooner, no request with a body is lost', async (t) => {
  // The times that are documented: what lies between them is what a busy machine may be late by.
  const listener = await openNodeListener({
    port: 0,
    host: '127.0.0.1',
    limits: { ...defaultLimits, idleMs: 5000 },
    onExchange: (exchange) => exchange.readBody({ chunk: () => true, end: () => exchange.send(200, '', 'taken') }),
  });
  t.after(() => listener.close());
  const outcomes = await Promise.all(
    Array.from({ length: 24 }, async (_, client) => {
      const own = new Agent({ keepAliveTimeout: 3000, keepAliveMaxTimeout: 3000, connections: 1 });
      const answers: number[] = [];
      for (let i = 0; i < 3; i++) {
        const { statusCode, body } = await request(`http://127.0.0.1:${listener.port}/`, {
          dispatcher: own,
          method: 'POST',
          body: 'x',
        });
        await body.dump();
        answers.push(statusCode);
        // Around both idle times.
        if (i < 2) await new Promise((resolve) => setTimeout(resolve, 2800 + ((client * 2 + i) % 12) * 200));
      }
      await own.close();
      return answers;
    }),
  );
  assert.deepEqual([...new Set(outcomes.flat())], [200]);
  assert.equal(outcomes.flat().length, 72);
});
