// What the host works for a worker is on the account of the invocation that asked, whichever way it asked, and ends it
// when it is too much; its isolate and everybody else's requests go on.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { createObjectCalls } from '#runtime/engine/bindings/object.ts';
import { hostCalls } from '#runtime/engine/bridge/call-names.ts';
import { objectSocketCalls, objectStorageCall } from '#runtime/engine/serving/objects/isolate-objects.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const worker = `
  import { pbkdf2Sync, scryptSync } from 'node:crypto';
  import { brotliCompressSync } from 'node:zlib';
  let requests = 0;
  const derive = async (iterations) => {
    const key = await crypto.subtle.importKey('raw', new Uint8Array(16), 'PBKDF2', false, ['deriveBits']);
    return crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-512', salt: new Uint8Array(16), iterations }, key, 512);
  };
  const text = Array.from({ length: 30_000 }, (_, i) => '<li id="' + (i * 7919 % 9973) + '">' + Math.sqrt(i) + '</li>').join('');
  const ways = {
    '/subtle': async () => { for (;;) await derive(50_000); },
    '/at-once': async () => { await Promise.all(Array.from({ length: 100 }, () => derive(50_000))); },
    '/too-much': async () => { await derive(1_000_000); },
    '/sync': () => { for (;;) pbkdf2Sync('x', 'y', 50_000, 64, 'sha512'); },
    '/scrypt': () => { for (;;) scryptSync('x', 'y', 64); },
    '/brotli': async () => {
      for (;;) await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('brotli'))).arrayBuffer();
    },
    '/brotli-sync': () => { for (;;) brotliCompressSync(text); },
    '/decode': () => { const bytes = crypto.getRandomValues(new Uint8Array(65536)); for (;;) new TextDecoder('gb18030').decode(bytes); },
  };
  export default { async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    requests++;
    if (pathname === '/count') return new Response(String(requests));
    if (pathname === '/later') { ctx.waitUntil(ways['/subtle']()); return new Response('gone on'); }
    if (pathname === '/small') { await derive(1000); return new Response('derived'); }
    await ways[pathname]();
    return new Response('done');
  } };
`;

let handler: TestHandler;

before(async () => {
  const cpu = { ...defaultLimits.cpu, http: { free: 100, pro: 0, enterprise: 100 } };
  handler = await startHandler({ busy: worker, unbound: { files: worker, plan: 'pro' } }, { cpu });
});
after(() => handler.close());

const exceeded = /^CPU limit exceeded: used \d+ ms of 100 ms \(plan free\)/;

for (const way of ['at-once', 'too-much', 'brotli']) {
  test(`an invocation whose work on the host is too much is over: ${way}; its isolate serves on`, async () => {
    const before = Number((await handler.fetch('busy', '/count')).text);
    const { status, headers } = await handler.fetch('busy', `/${way}`);
    assert.deepEqual([status, headers['x-platform-error']], [500, 'cpu_limit_exceeded']);
    assert.equal((await handler.fetch('busy', '/count')).text, String(before + 2));
    assert.ok(handler.logs.some(({ text }) => exceeded.test(text)));
  });
}

// The last fraction of a millisecond of the budget may be used up by the worker's own code: then its isolate is
// replaced, once in about a hundred times.
test('an invocation that asks for work on the host again and again is over; the next request is served', async () => {
  const { status, headers } = await handler.fetch('busy', '/subtle');
  assert.deepEqual([status, headers['x-platform-error']], [500, 'cpu_limit_exceeded']);
  assert.ok(handler.logs.some(({ text }) => exceeded.test(text)));
  assert.equal((await handler.fetch('busy', '/small')).text, 'derived');
});

for (const way of ['sync', 'scrypt', 'brotli-sync', 'decode']) {
  test(`what a thread waits for is on the same account: ${way}`, async () => {
    const { status, headers } = await handler.fetch('busy', `/${way}`);
    assert.deepEqual([status, headers['x-platform-error']], [500, 'cpu_limit_exceeded']);
  });
}

test('what waitUntil was given is on the account of its invocation, as the log says', async () => {
  assert.equal((await handler.fetch('busy', '/later')).text, 'gone on');
  await handler.logged('busy', /CPU limit exceeded/);
  const record = handler.requests.find(({ target }) => target === '/later');
  assert.ok(record === undefined || record.cpuMs > 50, `${record?.cpuMs}`);
});

test('a little of it shows in the CPU of the request, and a limit of 0 is none', async () => {
  assert.equal((await handler.fetch('busy', '/small')).text, 'derived');
  const record = handler.requests.findLast(({ target }) => target === '/small');
  assert.ok(record !== undefined && record.cpuMs > 0);
  assert.equal((await handler.fetch('unbound', '/too-much')).text, 'done');
  const unbound = handler.requests.findLast(({ target }) => target === '/too-much');
  assert.ok(unbound !== undefined && unbound.cpuMs > 100, `${unbound?.cpuMs}`);
});

test('the synchronous calls that there are are those that both sides know, as docs/limits.md lists them', () => {
  const { hostFunctions } = handler.engine;
  // Workers that declare objects have these beside.
  const objects = createObjectCalls({
    find: () => null,
    places: handler.engine.openFetches,
  });
  const sync = { ...hostFunctions.sync, ...objects.sync, ...objectSocketCalls };
  const waiting = { ...hostFunctions.waiting, ...objectStorageCall };
  const of = (...kinds: string[]): string[] =>
    Object.entries(hostCalls).flatMap(([name, kind]) => (kinds.includes(kind) ? [name] : []));
  assert.deepEqual(Object.keys(sync).toSorted(), of('sync').toSorted());
  assert.deepEqual(Object.keys(waiting).toSorted(), of('waiting', 'both').toSorted());
});
