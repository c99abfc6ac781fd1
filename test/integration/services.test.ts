// Calls between projects in an engine: who is charged, what ends with what, how deep they go, and which projects may
// call which. What calls carry is compared with miniflare in test/objects/.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';
import { until } from '#test/setup/until.ts';

const shop = `
let started = 0;
export default {
  async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url);
    try {
      switch (pathname) {
        case '/add': return Response.json(await env.AUTH.add(1, 2));
        case '/props': return Response.json([await env.ADMIN.role(), await env.STATIC.fetch('http://any/page.txt').then((r) => r.text())]);
        case '/fetch': {
          const answer = await env.AUTH.fetch(new Request('https://inside.example/a?b=c', { method: 'POST', body: 'text', headers: { 'x-platform-hops': '-9', 'x-own': '1' } }));
          return new Response(answer.body, answer);
        }
        case '/redirect': { const answer = await env.AUTH.fetch('http://x/redirect'); return Response.json([answer.redirected, answer.url, await answer.text()]); }
        case '/socket': {
          const { webSocket, status } = await env.AUTH.fetch('http://x/socket', { headers: { upgrade: 'websocket' } });
          webSocket.accept();
          const heard = new Promise((resolve) => webSocket.addEventListener('message', ({ data }) => resolve(data)));
          webSocket.send('ping');
          const text = await heard;
          const closed = new Promise((resolve) => webSocket.addEventListener('close', ({ code }) => resolve(code)));
          webSocket.close(4000, 'enough');
          return Response.json([status, text, await closed]);
        }
        case '/spins': await env.AUTH.spins(); break;
        case '/throws': await env.AUTH.throws(); break;
        case '/missing': await env.GONE.anything(); break;
        case '/missing-fetch': await env.GONE.fetch('http://x/'); break;
        case '/foreign': await env.FOREIGN.add(1, 2); break;
        case '/no-entrypoint': await env.WRONG.anything(); break;
        case '/static-method': await env.STATIC.anything(); break;
        case '/broken': await env.BROKEN.anything(); break;
        case '/circle': return Response.json(await env.AUTH.circle(0));
        case '/circle-fetch': return new Response((await env.AUTH.fetch('http://x/circle')).body);
        case '/leave': env.AUTH.slow('left'); await env.AUTH.add(1, 1); return new Response('left');
        case '/waits': await env.AUTH.background(); return new Response('waits');
        case '/many': {
          const calls = Array.from({ length: 1500 }, () => env.AUTH.add(1, 1).catch((error) => error.code));
          const results = await Promise.all(calls);
          return Response.json([results.filter((one) => one === 2).length, results.find((one) => one !== 2)]);
        }
        case '/callbacks': {
          const stub = await env.AUTH.counter();
          let last = 0;
          for (let n = 0; n < 200; n++) last = await stub.add(1);
          return Response.json(last);
        }
        case '/binary': { const bytes = await env.AUTH.bytes(3_000_000); return Response.json([bytes.length, bytes[2_999_999]]); }
      }
    } catch (error) {
      return Response.json({ code: error.code ?? null, name: error.name, message: error.message });
    }
    return new Response('returned', { status: 418 });
  },
};`;

const auth = `
import { WorkerEntrypoint, RpcTarget } from 'cloudflare:workers';
class Counter extends RpcTarget { #n = 0; add(by) { return (this.#n += by); } }
export default class extends WorkerEntrypoint {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/redirect') return Response.redirect('http://x/target', 302);
    if (pathname === '/circle') return this.env.SHOP.fetch('http://x/circle-fetch');
    if (pathname === '/socket') {
      const [client, server] = Object.values(new WebSocketPair());
      server.accept();
      server.addEventListener('message', ({ data }) => server.send('heard ' + data));
      return new Response(null, { status: 101, webSocket: client });
    }
    return Response.json([request.method, request.url, await request.text(), request.headers.get('x-platform-hops'), request.headers.get('x-own')]);
  }
  add(a, b) { return a + b; }
  spins() { for (;;); }
  throws() { throw new RangeError('of the other worker'); }
  counter() { return new Counter(); }
  bytes(length) { return new Uint8Array(length).fill(7); }
  async circle(depth) { return (await import('cloudflare:workers')).env.AUTH_AGAIN.circle(depth + 1); }
  async slow(name) {
    console.log('slow began');
    await scheduler.wait(1500);
    console.log('slow ended ' + name);
  }
  async background() { this.ctx.waitUntil(scheduler.wait(100).then(() => console.log('background ended'))); }
}
export class Admin extends WorkerEntrypoint { role() { return 'admin'; } }
`;

const owner = { organization: 'o1', project: 'p1' };
let handler: TestHandler;
before(async () => {
  handler = await startHandler({
    shop: {
      files: { 'src/index.js': shop },
      yaml:
        'service: { AUTH: auth, ADMIN: { project: auth, entrypoint: Admin }, WRONG: { project: auth, entrypoint: Wrong }, ' +
        'GONE: gone, FOREIGN: foreign, STATIC: static, BROKEN: broken }\n',
      owner,
    },
    auth: {
      files: { 'src/index.js': auth },
      yaml: 'service: { SHOP: shop, AUTH_AGAIN: auth }\n',
      owner: { ...owner, project: 'p2' },
    },
    foreign: { files: { 'src/index.js': auth }, owner: { organization: 'o2', project: 'p3' } },
    static: {
      files: { 'public/page.txt': 'a file' },
      yaml: 'kind: static\nbuild: ":"\nout: public\n',
      owner: { ...owner, project: 'p4' },
    },
    broken: {
      files: { 'src/index.js': 'export default {}; throw new Error("at the top");' },
      owner: { ...owner, project: 'p5' },
    },
  });
});
after(() => handler.close());

async function ask(path: string): Promise<unknown> {
  const { text } = await handler.fetch('shop', path);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

test('a method and a named entrypoint of another project, and its static files', async () => {
  assert.equal(await ask('/add'), 3);
  assert.deepEqual(await ask('/props'), ['admin', 'a file']);
});

test('the call is an invocation of the other project, which is charged for it', async () => {
  assert.equal(await ask('/add'), 3);
  const found = await until(() =>
    handler.requests.find(({ project, target }) => project === 'auth' && target === '/add'),
  );
  assert.deepEqual(
    [found.kind, found.method, found.target, found.status, found.outcome.kind],
    ['http', 'RPC', '/add', 200, 'ok'],
  );
  assert.ok(found.cpuMs > 0);
});

test('a request keeps its URL, method and body, and gets nothing that the caller may not say', async () => {
  assert.deepEqual(await ask('/fetch'), ['POST', 'https://inside.example/a?b=c', 'text', '1', '1']);
  assert.deepEqual(await ask('/redirect'), [true, 'http://x/target', '["GET","http://x/target","","1",null]']);
});

test('a WebSocket of another project', async () => {
  assert.deepEqual(await ask('/socket'), [101, 'heard ping', 4000]);
});

test('bytes cross whole, and one session serves many calls', async () => {
  assert.deepEqual(await ask('/binary'), [3_000_000, 7]);
  assert.equal(await ask('/callbacks'), 200);
});

test('a worker that spins ends its own call only', async () => {
  const failure = (await ask('/spins')) as { code: string };
  assert.equal(failure.code, 'cpu_limit_exceeded');
  assert.equal(await ask('/add'), 3);
});

test('errors say what is wrong', async () => {
  assert.deepEqual(await ask('/throws'), { code: null, name: 'RangeError', message: 'of the other worker' });
  const missing = {
    code: 'service_not_found',
    name: 'Error',
    message: 'The project gone has no deployment that this worker can call',
  };
  assert.deepEqual(await ask('/missing'), missing);
  assert.deepEqual(await ask('/missing-fetch'), missing);
  // A project of another organization is as good as none.
  assert.deepEqual(await ask('/foreign'), {
    ...missing,
    message: 'The project foreign has no deployment that this worker can call',
  });
  assert.deepEqual(await ask('/no-entrypoint'), {
    code: null,
    name: 'Error',
    message: 'The worker exports no entrypoint Wrong',
  });
  assert.deepEqual(await ask('/static-method'), {
    code: 'service_failed',
    name: 'Error',
    message: 'The call of static failed: it has no worker with methods, only fetch',
  });
  assert.equal(((await ask('/broken')) as { code: string }).code, 'worker_start_failed');
});

test('projects that call each other in a circle get an error at depth 16', async () => {
  assert.deepEqual(await ask('/circle'), {
    code: 'service_depth_exceeded',
    name: 'Error',
    message: 'Calls between workers are at most 16 deep: they call each other',
  });
  assert.match(String(JSON.stringify(await ask('/circle-fetch'))), /at most 16 deep/);
});

test('calls count as subrequests', async () => {
  assert.deepEqual(await ask('/many'), [1000, 'subrequest_limit_exceeded']);
});

test('what the caller leaves behind ends, but for waitUntil', async () => {
  assert.equal(await ask('/leave'), 'left');
  await handler.logged('auth', /slow began/);
  assert.equal(await ask('/waits'), 'waits');
  await handler.logged('auth', /background ended/);
  const ended = await until(() => handler.requests.find(({ target }) => target === '/slow'));
  assert.equal(ended.outcome.kind, 'ok');
  assert.equal(
    handler.logs.some(({ text }) => text.includes('slow ended')),
    false,
  );
});
