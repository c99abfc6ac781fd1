// The parts of the gateway's process: the way out to providers, and the table of prices.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import type { ProviderResponse } from '#gateway/contract/contract.ts';
import { openPrices, readPrices } from '#gateway/process/prices.ts';
import { openOutlet } from '#gateway/process/send.ts';
import { providerAt } from '#test/setup/gateway.ts';

const outlet = openOutlet();
after(() => outlet.close());
const ask = (url: string, isPrivate: boolean, { signal } = new AbortController()): Promise<ProviderResponse> =>
  outlet.send({ url, headers: {}, body: '{"a":1}', signal }, providerAt(url, { isPrivate }));

/** A provider of this machine while `run` runs. */
async function withServer(listener: RequestListener, run: (origin: string) => Promise<void>): Promise<void> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

test("an organization's provider leads to no private address, by number or by name", async () => {
  let requests = 0;
  await withServer(
    () => void requests++,
    async (origin) => {
      const { port } = new URL(origin);
      for (const url of [
        `http://127.0.0.1:${port}/v1`,
        `https://127.0.0.1:${port}/v1`,
        `https://localhost:${port}/v1`,
        `https://[::ffff:127.0.0.1]:${port}/v1`,
        'https://169.254.169.254/v1',
      ])
        await assert.rejects(ask(url, false), { code: 'EGRESS_FORBIDDEN' }, url);
      assert.equal(requests, 0);
    },
  );
});

test("an operator's provider may be private; it gets the body with its length, and a redirect is an answer", () =>
  withServer(
    (request, response) => {
      request.resume();
      response.writeHead(302, { location: 'http://127.0.0.1:1/', 'x-length': request.headers['content-length'] });
      response.end('moved');
    },
    async (origin) => {
      const response = await ask(`${origin}/v1/chat?x=1`, true);
      assert.deepEqual(
        [response.status, response.headers.get('x-length'), await text(response.body as Readable)],
        [302, '7', 'moved'],
      );
    },
  ));

test('a request that is given up closes the connection to the provider', async () => {
  const closed = Promise.withResolvers<void>();
  await withServer(
    (request, response) => {
      response.on('close', () => closed.resolve());
      response.write('first');
    },
    async (origin) => {
      const gone = new AbortController();
      const { body } = await ask(origin, true, gone);
      const { value } = await body![Symbol.asyncIterator]().next();
      assert.equal(Buffer.from(value as Uint8Array).toString(), 'first');
      gone.abort();
      await closed.promise;
    },
  );
});

test('prices are read, what is none is said with its place, and a broken edit changes nothing', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-prices-'));
  const file = path.join(folder, 'prices.json');
  try {
    assert.throws(() => readPrices(file), /AI_PRICES_FILE .*prices\.json cannot be read: ENOENT/);
    writeFileSync(file, '{');
    assert.throws(() => readPrices(file), /cannot be read: it is not JSON/);
    writeFileSync(file, '{"a/b": {"prompt": "1", "completion": 2}}');
    assert.throws(() => readPrices(file), /must be \{"provider\/model".* at \/a~1b\/prompt: must be number/);
    writeFileSync(file, '{"a/b": {"prompt": 1, "completion": 2}}');
    const replace = (text: string): void => {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    };
    let heard = Promise.withResolvers<string>();
    const prices = openPrices(file, (level) => heard.resolve(level), 5);
    assert.deepEqual(prices.price('a/b'), { prompt: 1, completion: 2 });
    assert.equal(prices.price('a/c'), null);
    replace('{"a/c": {"prompt": 3, "completion": 4}}');
    assert.equal(await heard.promise, 'info');
    assert.deepEqual([prices.price('a/b'), prices.price('a/c')], [null, { prompt: 3, completion: 4 }]);
    heard = Promise.withResolvers();
    replace('{"a/c": {"prompt": 3');
    assert.equal(await heard.promise, 'error');
    assert.deepEqual(prices.price('a/c'), { prompt: 3, completion: 4 });
    prices.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
