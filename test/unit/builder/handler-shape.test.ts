// builder/shims/handler.ts: however a worker exports its handlers, the guest finds an object of methods.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { test } from 'node:test';
import { plain, run } from './project-folder.ts';

test('an object stays the object that was exported', async (t) => {
  const worker = await run(t, {
    'src/index.ts':
      'const worker = { mine: 1, fetch() { return this === worker && this.mine; } }; export default worker;',
  });
  assert.equal(worker['fetch']!(), 1);
});

test('message, timer, workflows, and the aliases queue and scheduled pass as they are', async (t) => {
  const worker = await run(t, {
    'src/index.ts':
      'export default { message: () => "m", queue: () => "q", timer: () => "t", scheduled: () => "s", workflows: { w: { handler: () => "w" } } };',
  });
  assert.deepEqual(['message', 'queue', 'timer', 'scheduled'].map((name) => worker[name]!()).join(''), 'mqts');
  assert.equal((worker as unknown as { workflows: { w: { handler(): string } } }).workflows.w.handler(), 'w');
});

test('`export { handler as default }` is a default export', async (t) => {
  const worker = await run(t, {
    'src/index.ts': 'const handler = { fetch: () => "x" }; export { handler as default };',
  });
  assert.equal(worker['fetch']!(), 'x');
});

test('handlers exported by name are methods of one object', async (t) => {
  const worker = await run(t, {
    'src/index.ts':
      'export function fetch() { return "f"; } export const scheduled = () => "s"; export const other = 1;',
  });
  assert.deepEqual(Object.keys(worker).sort(), ['fetch', 'scheduled']);
  assert.equal(worker['fetch']!(), 'f');
});

test('handlers exported by name add to a default export, which keeps its `this` and wins', async (t) => {
  const worker = await run(t, {
    'src/index.ts': `class App { #secret = 'app'; fetch() { return this.#secret; } }
export default new App();
export const fetch = () => 'named';
export const workflows = { a: {} };`,
  });
  assert.equal(worker['fetch']!(), 'app');
  assert.deepEqual(plain(worker['workflows']), { a: {} });
});

test('a function as default export is the fetch handler', async (t) => {
  const worker = await run(t, {
    'src/index.ts': 'export default async function (request: string) { return `got ${request}`; }',
  });
  assert.equal(await worker['fetch']!('r'), 'got r');
});

test('a callable default export with a fetch of its own is left alone', async (t) => {
  const worker = await run(t, {
    'src/index.ts': 'export default Object.assign(() => "called", { fetch: () => "fetched" });',
  });
  assert.equal(worker['fetch']!(), 'fetched');
});

test('a class is instantiated for each invocation, with its context and environment', async (t) => {
  const worker = await run(t, {
    'src/index.ts': `import { WorkerEntrypoint } from 'cloudflare:workers';
let made = 0;
class Base extends WorkerEntrypoint { scheduled() { return 'inherited'; } }
export default class extends Base { number = ++made; fetch(request) { return [request, this.ctx, this.env, this.number].join(); } }`,
  });
  assert.equal(worker['fetch']!('r', 'env', 'ctx'), 'r,ctx,env,1');
  assert.equal(worker['fetch']!('r', 'env', 'ctx'), 'r,ctx,env,2');
  assert.equal(worker['scheduled']!(), 'inherited');
});

test('a worker that listens with addEventListener exports nothing', async (t) => {
  const events: string[] = [];
  const worker = await run<unknown>(
    t,
    { 'src/index.js': 'addEventListener("fetch", () => {});' },
    { addEventListener: (name: string) => events.push(name) },
  );
  assert.equal(worker, undefined);
  assert.deepEqual(events, ['fetch']);
});

test('a CommonJS entry exports what it assigns to module.exports', async (t) => {
  const worker = await run(t, { 'src/index.cjs': 'module.exports = { fetch: () => "cjs" };' });
  assert.equal(worker['fetch']!(), 'cjs');
});

test('a class of durable objects has its context and environment', async (t) => {
  const worker = await run(t, {
    'src/index.ts': `import { DurableObject } from 'cloudflare:workers';
export class Counter extends DurableObject {}
export default { fetch: () => { const { ctx, env } = new Counter('context', 'environment'); return [ctx, env]; } };`,
  });
  assert.deepEqual(plain(worker['fetch']!()), ['context', 'environment']);
});

test('env and waitUntil of cloudflare:workers are those of the deployment', async (t) => {
  const waited: unknown[] = [];
  const worker = await run(
    t,
    {
      'src/index.ts': `import { env, waitUntil } from 'cloudflare:workers'; export default { fetch() { waitUntil('later'); return [env.NAME, 'NAME' in env, Object.keys(env), env.missing]; } };`,
    },
    {
      [Symbol.for('platform.env')]: { NAME: 'x' },
      [Symbol.for('platform.waitUntil')]: (value: unknown) => waited.push(value),
    },
  );
  assert.deepEqual(plain(worker['fetch']!()), ['x', true, ['NAME'], null]);
  assert.deepEqual(waited, ['later']);
});

test('cloudflare:sockets opens a socket by the guest', async (t) => {
  const worker = await run(
    t,
    {
      'src/index.ts': `import { connect } from 'cloudflare:sockets'; export default { fetch: () => connect('a:1', { secureTransport: 'on' }) };`,
    },
    { [Symbol.for('platform.node')]: { tcpConnect: (...given: unknown[]) => given } },
  );
  assert.deepEqual(plain(worker['fetch']!()), ['a:1', { secureTransport: 'on' }]);
});

for (const ask of [`await import('cloudflare:nope')`, `require('cloudflare:nope')`]) {
  test(`${ask} of a module that is not here fails when it is reached`, async (t) => {
    const worker = await run(t, {
      'src/index.ts': `export default { fetch: () => 'served', async email() { return ${ask}; } };`,
    });
    assert.equal(worker['fetch']!(), 'served');
    await assert.rejects(worker['email']!() as Promise<unknown>, {
      message:
        'cloudflare:nope is not available on this platform: there are cloudflare:email, cloudflare:node, cloudflare:sockets, cloudflare:workers, cloudflare:workflows',
    });
  });
}

test('cloudflare:email makes messages, also where it is imported late', async (t) => {
  const worker = await run(t, {
    'src/index.ts': `export default { async fetch(from, to, raw) {
      const { EmailMessage } = await import('cloudflare:email');
      const message = new EmailMessage(from, to, raw);
      return [message.from, message.to, message.raw, message instanceof EmailMessage];
    } };`,
  });
  assert.deepEqual(plain(await worker['fetch']!('a@x', 'b@x', 'Subject: hi')), ['a@x', 'b@x', 'Subject: hi', true]);
  await assert.rejects(worker['fetch']!('a@x', undefined, 'x') as Promise<unknown>, { name: 'TypeError' });
  await assert.rejects(worker['fetch']!('a@x', 'b@x', 7) as Promise<unknown>, { name: 'TypeError' });
});

test('every name of cloudflare:workers, workflows and node can be imported', async (t) => {
  const worker = await run(t, {
    'src/index.ts': `import { DurableObject, RpcPromise, RpcProperty, RpcStub, RpcTarget, ServiceStub, WorkerEntrypoint, WorkflowEntrypoint,
  cache, env, exports, tracing, waitUntil, withEnv, withEnvAndExports, withExports } from 'cloudflare:workers';
import { NonRetryableError } from 'cloudflare:workflows';
import { httpServerHandler, handleAsNodeRequest } from 'cloudflare:node';
export class Remote extends RpcTarget {}
export class Flow extends WorkflowEntrypoint {}
export default { fetch: () => [new Remote() instanceof RpcTarget, new NonRetryableError('x').name, typeof withEnv, {} instanceof RpcPromise],
  all: [DurableObject, RpcProperty, RpcStub, ServiceStub, WorkerEntrypoint, cache, env, exports, tracing, waitUntil, withEnvAndExports, withExports],
  serve: () => httpServerHandler({ port: 1 }), handle: handleAsNodeRequest };`,
  });
  assert.deepEqual(plain(worker['fetch']!()), [true, 'NonRetryableError', 'function', false]);
  assert.throws(() => worker['serve']!(), /httpServerHandler\(\) of cloudflare:node is not supported on this platform/);
});

test('withEnv shows other bindings to what it calls, and env takes assignments', async (t) => {
  const worker = await run(
    t,
    {
      'src/index.ts': `import { env, withEnv } from 'cloudflare:workers';
export default { fetch() { const inner = withEnv({ NAME: 'other' }, () => env.NAME); env.ADDED = 1; return [env.NAME, inner, env.ADDED, delete env.ADDED, 'ADDED' in env]; } };`,
    },
    { AsyncLocalStorage, [Symbol.for('platform.env')]: { NAME: 'own' } },
  );
  assert.deepEqual(plain(worker['fetch']!()), ['own', 'other', 1, true, false]);
});

test('classes of workflows join the workflows of a default export, which keeps its `this`', async (t) => {
  const worker = await run(
    t,
    {
      'src/index.ts': `import { WorkflowEntrypoint } from 'cloudflare:workers';
export class Order extends WorkflowEntrypoint { run() { return this.env; } }
class App { #secret = 'app'; workflows = { plain: () => 'plain' }; fetch() { return this.#secret; } }
export default new App();`,
    },
    {},
    { order: 'Order' },
  );
  assert.equal(worker['fetch']!(), 'app');
  const { plain: handler, order } = (worker as unknown as { workflows: Record<string, unknown> }).workflows;
  assert.equal((handler as () => string)(), 'plain');
  const { entrypoint } = order as { entrypoint: new (ctx: string, env: string) => { run(): string } };
  assert.equal(new entrypoint('ctx', 'env').run(), 'env');
});
