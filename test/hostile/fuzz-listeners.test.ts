// Raw bytes at the listener: requests that are cut, doubled, spliced and full of noise. It answers what it can with a
// status, and a client that behaves is answered in between. FUZZ_SECONDS makes it last, FUZZ_SEED repeats it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import type { Listener, OpenListener } from '#runtime/engine/http/listener.ts';
import { openNodeListener } from '#runtime/engine/http/listener-node.ts';
import { loadUws, openUwsListener } from '#runtime/engine/http/listener-uws.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const random = createSeededRandom();
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 3);
const pieces = [
  'GET / HTTP/1.1\r\n', 'POST /a?b HTTP/1.1\r\n', 'HEAD http://x/ HTTP/1.1\r\n', 'OPTIONS * HTTP/1.1\r\n', 'GET / HTTP/1.0\r\n', 'get / http/1.1\r\n', 'PRI * HTTP/2.0\r\n', 'CONNECT a:1 HTTP/1.1\r\n',
  'host: a.localhost\r\n', 'host:\r\n', 'host: a\r\nhost: b\r\n', 'content-length: 3\r\n', 'content-length: -1\r\n', 'content-length: 99999999999999999999\r\n', 'content-length: 3, 3\r\n',
  'transfer-encoding: chunked\r\n', 'transfer-encoding: gzip, chunked\r\n', 'transfer-encoding : chunked\r\n', 'expect: 100-continue\r\n', 'upgrade: websocket\r\nconnection: upgrade\r\n',
  'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n', 'connection: close\r\n', 'connection: keep-alive, x\r\n', ' folded\r\n', 'x: \u00ff\u0000\r\n', ': empty\r\n', 'a\r\n', '\r\n', '\r\n\r\n',
  '\n', '\r', '\0', '3\r\nabc\r\n', '0\r\n\r\n', 'zz\r\n', 'ffffffffffffffff\r\n', '3;ext=1\r\nabc\r\n', 'abc', '\u0081\u0085', '\u0016\u0003\u0001\u0002\u0000', `${'h: v\r\n'.repeat(300)}`, `x: ${'y'.repeat(20_000)}\r\n`,
]; // prettier-ignore
const good = 'POST /good HTTP/1.1\r\nhost: a.localhost\r\ncontent-length: 3\r\nconnection: close\r\n\r\nabc';

const listeners: [string, OpenListener][] = [['node:http', openNodeListener]];
const { uws } = loadUws();
if (uws !== null) listeners.push(['uWebSockets.js', openUwsListener(uws)]);

for (const [name, open] of listeners) {
  test(`${name}: whatever bytes come, a client that behaves is answered`, async () => {
    const limits = { ...defaultLimits, bodyBytesMax: 10_000 };
    let taken = 0;
    const listener: Listener = await open({
      port: 0,
      host: '127.0.0.1',
      limits,
      onExchange(exchange) {
        taken++;
        assert.match(exchange.method, /^[!#$%&'*+.^_`|~0-9A-Z-]+$/);
        assert.ok(exchange.target.startsWith('/') || exchange.target === '*', JSON.stringify(exchange.target));
        assert.doesNotMatch(exchange.headerBlock, /[\r\n]/);
        let bytes = 0;
        exchange.onAbort = () => {};
        exchange.readBody({
          chunk(chunk) {
            bytes += chunk.byteLength;
            return true;
          },
          end: () => exchange.send(200, 'x-bytes\u0000yes\u0000', String(bytes)),
        });
      },
    });
    try {
      const until = performance.now() + (seconds * 1000) / listeners.length;
      let rounds = 0;
      // On a slow machine until noise was taken for requests, too.
      while (performance.now() < until || rounds <= 5 || taken <= rounds) {
        rounds++;
        const noise = Array.from({ length: 8 }, () => {
          const text = random.text(pieces, 12);
          return talk(
            listener.port,
            random.below(3) === 0 ? good.slice(0, random.below(good.length)) + text : text,
            60,
          );
        });
        const answer = await talk(listener.port, good, 5000);
        assert.match(answer, /^HTTP\/1\.1 200 [\s\S]*\r\n\r\n3$/, `seed ${random.seed}, round ${rounds}`);
        for (const text of await Promise.all(noise))
          assert.match(text, /^(?:HTTP\/1\.1 \d{3} |$)/, `seed ${random.seed}, round ${rounds}`);
      }
    } finally {
      await listener.drain(50);
    }
  });
}

/** What a connection answers to some bytes in one to three writes, until it closes or is silent for a while. */
async function talk(port: number, text: string, silenceMs: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  let answer = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => (answer += chunk));
  socket.setTimeout(silenceMs, () => socket.destroy());
  const bytes = Buffer.from(text, 'latin1');
  const cut = random.below(bytes.length + 1);
  socket.write(bytes.subarray(0, cut));
  socket.write(bytes.subarray(cut));
  if (!socket.closed) await once(socket, 'close').catch(() => {});
  return answer;
}
