import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { send, startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;

before(async () => {
  handler = await startHandler({
    echo: {
      vars: { GREETING: 'hello', ASSETS: 'shadowed' },
      files: `export default {
        async fetch(request, env, ctx) {
          const url = new URL(request.url);
          switch (url.pathname) {
            case '/info': return Response.json({ method: request.method, url: request.url, agent: request.headers.get('user-agent'), vars: env.vars, direct: env.GREETING });
            case '/text': return new Response((await request.text()).toUpperCase());
            case '/json': return Response.json({ got: await request.json() }, { status: 201, headers: { 'x-a': 'b' } });
            case '/bytes': { const bytes = new Uint8Array(await request.arrayBuffer()); return new Response(bytes.map((byte) => byte ^ 255)); }
            case '/cookies': { const response = new Response(null, { status: 204 }); response.headers.append('set-cookie', 'a=1'); response.headers.append('set-cookie', 'b=2'); return response; }
            case '/foreign-cookies': return new Response('x', { headers: { 'set-cookie': 'sid=secret; Domain=localhost' } });
            case '/length': { let total = 0; for await (const chunk of request.body) total += chunk.byteLength; return new Response(String(total)); }
            case '/pipe': return new Response(request.body, { headers: { 'content-type': 'application/octet-stream' } });
            case '/stream': {
              const encoder = new TextEncoder();
              let count = 0;
              return new Response(new ReadableStream({ async pull(controller) { if (count === 5) { controller.close(); return; } await scheduler.wait(1); controller.enqueue(encoder.encode('part ' + count++ + '\\n')); } }));
            }
            case '/large': { const chunk = new Uint8Array(65536).fill(97); let left = 160; return new Response(new ReadableStream({ pull(controller) { if (left-- === 0) controller.close(); else controller.enqueue(chunk); } })); }
            case '/endless': { return new Response(new ReadableStream({ pull(controller) { controller.enqueue(new Uint8Array(1000)); }, cancel() { console.log('nobody reads'); } })); }
            case '/later': ctx.waitUntil((async () => { await scheduler.wait(20); console.log('after the answer'); })()); return new Response('answered');
            case '/long': return new Response(url.searchParams.get('of').repeat(Number(url.searchParams.get('times'))));
            case '/sync': return new Response('sync');
            case '/empty': return new Response();
            case '/redirect': return Response.redirect('https://example.com/there', 303);
            case '/events': {
              const first = new Event('first', { cancelable: true });
              await scheduler.wait(2);
              const second = new Event('second', { bubbles: true, composed: true });
              class Own extends Event { extra = 1; }
              const events = [first, second, new Own('own'), new CustomEvent('custom', { detail: 7 }), Reflect.construct(Event, ['made'], Own)];
              const described = events.map((event) => Object.getOwnPropertyDescriptor(event, 'isTrusted'));
              first.preventDefault();
              first.note = 'kept';
              return Response.json({
                own: events.map((event) => Object.keys(event).join()),
                classes: events.map((event) => event.constructor.name + ' ' + (event instanceof Event)),
                flags: [first, second].map((event) => [event.type, event.bubbles, event.cancelable, event.composed, event.defaultPrevented, event.target].join()),
                fixed: described.every(({ get, set, configurable }) => get === described[0].get && set === undefined && !configurable),
                later: second.timeStamp > first.timeStamp,
                fresh: 'note' in new Event('x'),
              });
            }
            case '/uncaught': {
              const heard = (type) => new Promise((resolve) => addEventListener(type, (event) => { event.preventDefault(); resolve(event); }, { once: true }));
              const [error, rejection] = [heard('error'), heard('unhandledrejection')];
              reportError(new RangeError('reported'));
              const promise = Promise.reject('left alone');
              const [first, second] = await Promise.all([error, rejection]);
              return Response.json([
                [first.constructor.name, first instanceof ErrorEvent, first.message, first.error.name, first.isTrusted],
                [second.constructor.name, second instanceof PromiseRejectionEvent, second.reason, second.promise === promise, String(second)],
              ]);
            }
            case '/encoded': {
              const encoder = new TextEncoder();
              const texts = Array.from({ length: 90 }, (_, length) => ['x', '\u00fc', '\u6771', '\ud800'].map((one) => one.repeat(length)));
              const { constructor } = Uint8Array.prototype;
              Object.defineProperty(Uint8Array.prototype, 'constructor', { get() { throw new Error('asked'); }, configurable: true });
              const made = texts.flat().map((text) => encoder.encode(text));
              Object.defineProperty(Uint8Array.prototype, 'constructor', { value: constructor, writable: true, configurable: true });
              return Response.json(made.map((bytes) => [bytes.byteLength, bytes.buffer.byteLength, bytes.byteOffset, String.fromCharCode(...bytes)]));
            }
            case '/unicode': return new Response('gr\\u00fc\\u00dfe \\u{1F600}');
            case '/timers': { const order = []; await new Promise((resolve) => { setTimeout(() => { order.push(2); Promise.resolve().then(() => order.push(3)); }, 5); setTimeout(() => { order.push(4); resolve(); }, 5); order.push(1); }); return Response.json(order); }
          }
          return new Response('not here', { status: 404, statusText: 'Nope' });
        },
      };`,
    },
    listener: `addEventListener('fetch', (event) => event.respondWith(new Response('from a listener ' + new URL(event.request.url).pathname)));`,
    entrypoint: `import { WorkerEntrypoint } from 'cloudflare:workers';
      export default class extends WorkerEntrypoint { async fetch(request) { return new Response('class ' + this.env.vars.NAME); } }`,
    models: {
      yaml: 'ai: true',
      files: `import { env as bindings, withEnv } from 'cloudflare:workers';
        export default { async fetch(request, env) {
          const scoped = await withEnv({ NAME: 'scoped' }, async () => { await scheduler.wait(1); return bindings.NAME; });
          return Response.json([Object.keys(env), scoped, await Promise.resolve().then(() => env.AI.run('model', {})).catch((error) => error.message)]);
        } };`,
    },
    awaits: `const value = await new Promise((resolve) => setTimeout(() => resolve('awaited'), 10)); export default { fetch: () => new Response(value) };`,
  });
});
after(() => handler.close());

test('a worker sees the request as it was sent, and its variables', async () => {
  const response = await handler.fetch('echo', '/info?x=1', { headers: { 'user-agent': 'test/1' } });
  assert.equal(response.status, 200);
  assert.equal(response.headers['content-type'], 'application/json');
  assert.deepEqual(response.json(), {
    method: 'GET',
    url: 'http://echo.localhost/info?x=1',
    agent: 'test/1',
    vars: { GREETING: 'hello', ASSETS: 'shadowed' },
    direct: 'hello',
  });
});

test('the URL a worker sees is serialised as the URL Standard says', async () => {
  const response = await handler.fetch('echo', '/a/../info?q=%zz"');
  assert.equal((response.json() as { url: string }).url, 'http://echo.localhost/info?q=%zz%22');
});

test('bodies come in as text, JSON and bytes, and go out as they are', async () => {
  assert.equal((await handler.fetch('echo', '/text', { method: 'POST', body: 'größe' })).text, 'GRÖSSE');
  const json = await handler.fetch('echo', '/json', { method: 'POST', body: '{"a":[1,2]}' });
  assert.equal(json.status, 201);
  assert.equal(json.headers['x-a'], 'b');
  assert.deepEqual(json.json(), { got: { a: [1, 2] } });
  const bytes = await handler.fetch('echo', '/bytes', { method: 'POST', body: new Uint8Array([0, 1, 254, 255]) });
  assert.deepEqual([...bytes.body], [255, 254, 1, 0]);
  assert.equal((await handler.fetch('echo', '/unicode')).text, 'grüße 😀');
});

test('a chunked body and one larger than the inline bound come in as a stream', async () => {
  const large = new Uint8Array(3_000_000).fill(7);
  assert.equal((await handler.fetch('echo', '/length', { method: 'POST', body: large })).text, '3000000');
  const chunked = await handler.fetch('echo', '/length', {
    method: 'POST',
    body: large,
    headers: { 'transfer-encoding': 'chunked' },
  });
  assert.equal(chunked.text, '3000000');
});

test('a body can be passed through without being read', async () => {
  const large = new Uint8Array(2_000_000).map((_, at) => at % 251);
  const response = await handler.fetch('echo', '/pipe', { method: 'POST', body: large });
  assert.equal(Buffer.compare(response.body, Buffer.from(large)), 0);
});

test('a text of any length goes out as UTF-8 with its length', async () => {
  for (const [of, times] of [
    ['a', 32 * 1024],
    ['a', 32 * 1024 + 1],
    ['\u00fc', 40_000],
    ['a', 1024 * 1024],
    ['\u6771', 1024 * 1024],
    ['a', 3 * 1024 * 1024],
  ] as const) {
    const { body, headers } = await handler.fetch('echo', `/long?of=${encodeURIComponent(of)}&times=${times}`);
    const expected = Buffer.from(of.repeat(times));
    assert.equal(headers['content-length'], String(expected.byteLength));
    assert.ok(body.equals(expected), `${of} ${times}`);
  }
});

test('responses stream, small and large', async () => {
  assert.equal((await handler.fetch('echo', '/stream')).text, 'part 0\npart 1\npart 2\npart 3\npart 4\n');
  const large = await handler.fetch('echo', '/large');
  assert.equal(large.body.byteLength, 160 * 65536);
  assert.ok(large.body.every((byte) => byte === 97));
});

test('HEAD of an endless body answers its head, and the body is cancelled', async () => {
  const response = await handler.fetch('echo', '/endless', { method: 'HEAD' });
  assert.equal(response.status, 200);
  assert.equal(response.text, '');
  await handler.logged('echo', /nobody reads/);
});

test('a URL that cannot be one answers an error, and requests beside it are not lost', async () => {
  const [bad, good] = await Promise.all([
    send(handler.port, 'echo.localhost:99999', '/./info'),
    handler.fetch('echo', '/sync'),
  ]);
  assert.ok(bad.status === 400 || bad.status === 500, String(bad.status));
  assert.equal(good.text, 'sync');
});

test('statuses without a body, redirects and several cookies go out as they should', async () => {
  const cookies = await handler.fetch('echo', '/cookies');
  assert.equal(cookies.status, 204);
  assert.deepEqual(cookies.headers['set-cookie'], ['a=1', 'b=2']);
  const redirect = await handler.fetch('echo', '/redirect');
  assert.equal(redirect.status, 303);
  assert.equal(redirect.headers.location, 'https://example.com/there');
  assert.equal((await handler.fetch('echo', '/empty')).text, '');
  assert.equal((await handler.fetch('echo', '/nowhere')).status, 404);
  assert.equal((await handler.fetch('echo', '/sync', { method: 'HEAD' })).headers['content-length'], '4');
});

test('each event owns isTrusted and keeps its own type, flags and time, of whatever class it is', async () => {
  assert.deepEqual((await handler.fetch('echo', '/events')).json(), {
    own: ['isTrusted,note', 'isTrusted', 'isTrusted,extra', 'isTrusted', 'isTrusted'],
    classes: ['Event true', 'Event true', 'Own true', 'CustomEvent true', 'Own true'],
    flags: ['first,false,true,false,true,', 'second,true,false,true,false,'],
    fixed: true,
    later: true,
    fresh: false,
  });
});

test('listeners for errors and for rejections that nobody handles get the events of the standard', async () => {
  const [error, rejection] = (await handler.fetch('echo', '/uncaught')).json() as unknown[][];
  assert.deepEqual(error, ['ErrorEvent', true, 'reported', 'RangeError', true]);
  assert.deepEqual(rejection, ['PromiseRejectionEvent', true, 'left alone', true, '[object PromiseRejectionEvent]']);
});

test('texts of every length and width are encoded into buffers of their own, whatever a worker did to arrays', async () => {
  const texts = Array.from({ length: 90 }, (_, length) =>
    ['x', 'ü', '東', '\ufffd'].map((one) => Buffer.from(one.repeat(length))),
  );
  assert.deepEqual(
    (await handler.fetch('echo', '/encoded')).json(),
    texts.flat().map((bytes) => [bytes.byteLength, bytes.byteLength, 0, bytes.toString('latin1')]),
  );
});

test('what waitUntil was given runs on after the answer', async () => {
  assert.equal((await handler.fetch('echo', '/later')).text, 'answered');
  assert.equal((await handler.logged('echo', /after the answer/)).level, 'info');
});

test('microtasks run between two timers that are due together', async () => {
  assert.deepEqual((await handler.fetch('echo', '/timers')).json(), [1, 2, 3, 4]);
});

test('workers with a fetch listener, a class or a top-level await run too', async () => {
  assert.equal((await handler.fetch('listener', '/x')).text, 'from a listener /x');
  assert.equal((await handler.fetch('entrypoint')).text, 'class undefined');
  assert.equal((await handler.fetch('awaits')).text, 'awaited');
});

test('ai: true gives a binding, which says where there is no gateway; withEnv holds over an await', async () => {
  assert.deepEqual((await handler.fetch('models')).json(), [
    ['vars', 'AI'],
    'scoped',
    'This platform runs no AI gateway: the operator sets AI_GATEWAY_URL to the address of the API that has the AI_PROVIDER_<NAME>_KEY and AI_AUTO, or ENCRYPTION_KEY so that one starts here',
  ]);
});

test('a cookie for the hosts of all projects is not sent, and the log names it without its value', async () => {
  assert.equal((await handler.fetch('echo', '/foreign-cookies')).headers['set-cookie'], undefined);
  const line = await handler.logged('echo', /Cookies dropped/);
  assert.deepEqual(
    [line.level, line.text],
    ['warn', 'Cookies dropped: Domain is not the host of the request (echo.localhost): "sid"'],
  );
});

test('a hundred requests at once are all answered, each with its own answer', async () => {
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) => handler.fetch('echo', '/text', { method: 'POST', body: `n${at}` })),
  );
  assert.deepEqual(
    answers.map(({ text }) => text),
    Array.from({ length: 100 }, (_, at) => `N${at}`),
  );
});

test('a finished request is recorded with its outcome, CPU and wall time', async () => {
  await handler.fetch('echo', '/sync');
  const record = handler.requests.at(-1);
  assert.equal(record?.project, 'echo');
  assert.equal(record?.status, 200);
  assert.deepEqual(record?.outcome, { kind: 'ok' });
  assert.ok((record?.cpuMs ?? 0) > 0 && (record?.wallMs ?? 0) > 0);
});
