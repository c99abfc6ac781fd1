// A worker that fetches another worker of its platform: inside, although the policy refuses the machine itself; and
// workers that fetch each other without end.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const front = `
export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const to = 'http://back.localhost';
    if (pathname === '/headers') {
      const forged = { 'x-platform-hops': '-5', 'x-forwarded-for': '1.2.3.4', host: 'other.localhost', 'x-own': 'kept', 'x-real-ip': '1.2.3.4' };
      return fetch(to + '/headers?a=1', { headers: forged });
    }
    if (pathname === '/upload') return fetch(to + '/echo', { method: 'POST', body: request.body, duplex: 'half' });
    if (pathname === '/text') return fetch(to + '/echo', { method: 'PUT', body: 'größer' });
    if (pathname === '/large') {
      const answer = await fetch(to + '/large');
      return Response.json([(await answer.arrayBuffer()).byteLength, answer.headers.get('content-length')]);
    }
    if (pathname === '/gives-up') {
      const answer = await fetch(to + '/endless');
      const reader = answer.body.getReader();
      const { value } = await reader.read();
      await reader.cancel();
      return Response.json(value.byteLength > 0);
    }
    if (pathname === '/aborts') {
      const controller = new AbortController();
      const running = fetch(to + '/never', { signal: controller.signal }).catch(({ name }) => name);
      await new Promise((resolve) => setTimeout(resolve, 20));
      controller.abort();
      return Response.json(await running);
    }
    if (pathname === '/loop') return fetch('http://front.localhost/loop');
    const answer = await fetch(searchParams.get('url') ?? to + pathname, { signal: request.signal }).catch(({ code, message }) => Response.json({ code, message }));
    return new Response(answer.body, answer);
  },
};`;

const back = `
const asked = [];
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/headers') return Response.json([request.url, Object.fromEntries(request.headers)]);
    if (pathname === '/echo') return new Response(await request.text(), { headers: { 'x-method': request.method, 'set-cookie': 'a=1; Domain=localhost' } });
    if (pathname === '/large') return new Response(new Uint8Array(3_000_000));
    if (pathname === '/redirect') return Response.redirect('http://back.localhost/headers', 302);
    if (pathname === '/throws') throw new Error('no');
    if (pathname === '/endless' || pathname === '/never') {
      console.log('asked ' + pathname);
      request.signal.addEventListener('abort', () => console.log('given up ' + pathname));
      if (pathname === '/never') return new Promise((resolve) => setTimeout(resolve, 60_000));
      return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)), cancel: () => console.log('given up ' + pathname) }));
    }
    return new Response('nothing', { status: 404 });
  },
};`;

let handler: TestHandler;
before(async () => {
  handler = await startHandler({ front, back }, {}, { staysInside: true, egress: { loopback: false, private: false } });
});
after(() => handler.close());

test('the other worker gets the request as its own, with nothing that the first one may not say', async () => {
  const [url, headers] = (await handler.fetch('front', '/headers')).json() as [string, Record<string, string>];
  assert.equal(url, 'http://back.localhost/headers?a=1');
  assert.deepEqual(
    ['host', 'x-own', 'x-platform-hops', 'x-forwarded-for', 'x-real-ip'].map((name) => headers[name]),
    ['back.localhost', 'kept', '1', '192.0.0.8', '192.0.0.8'],
  );
});

test('bodies go both ways, streamed and whole', async () => {
  const body = 'x'.repeat(500_000);
  const streamed = await handler.fetch('front', '/upload', { method: 'POST', body });
  assert.deepEqual([streamed.text === body, streamed.headers['x-method']], [true, 'POST']);
  assert.equal(streamed.headers['set-cookie'], undefined);
  assert.equal((await handler.fetch('front', '/text')).text, 'größer');
  assert.deepEqual((await handler.fetch('front', '/large')).json(), [3_000_000, '3000000']);
});

test('redirects are followed, failures answered as to anybody', async () => {
  const [url] = (await handler.fetch('front', '/redirect')).json() as [string];
  assert.equal(url, 'http://back.localhost/headers');
  const { status, headers } = await handler.fetch('front', '/throws');
  assert.deepEqual([status, headers['x-platform-error']], [500, 'worker_threw']);
});

test('an answer that is given up ends the other worker, before its head and after', async () => {
  assert.equal((await handler.fetch('front', '/gives-up')).json(), true);
  await handler.logged('back', /given up \/endless/);
  assert.equal((await handler.fetch('front', '/aborts')).json(), 'AbortError');
  await handler.logged('back', /given up \/never/);
  handler.logs.length = 0;
  const client = request({ port: handler.port, path: '/never', headers: { host: 'front.localhost' } }).end();
  client.on('error', () => {});
  await handler.logged('back', /asked \/never/);
  client.destroy();
  await handler.logged('back', /given up \/never/);
});

test('workers that fetch each other come to an end, with a status that says why', async () => {
  const { status, text } = await handler.fetch('front', '/loop');
  assert.equal(status, 508);
  assert.match(text, /have passed the request on 16 times/);
  // The first one came from outside.
  assert.equal(handler.requests.filter(({ target }) => target === '/loop').length, 17);
});

test('other ports of the machine, and hosts that nobody has, stay refused', async () => {
  for (const url of ['http://back.localhost:5432/', 'http://127.0.0.1/', 'http://[::1]/', 'http://nobody.localhost/']) {
    const answer = await handler.fetch('front', `/?url=${encodeURIComponent(url)}`);
    const { message } = answer.json() as { message: string };
    assert.match(message, /^Requests to .* are not allowed$|ENOTFOUND/, url);
  }
});
