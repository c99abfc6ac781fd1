import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;

before(async () => {
  const cpu = { free: 300, pro: 300, enterprise: 300 };
  handler = await startHandler(
    {
      // Walks everything reachable from the globals, the environment, the context and a request, and looks for objects
      // whose prototype chain does not end in this realm's, for foreign functions, and for names of the engine.
      walk: {
        vars: { A: 'b' },
        files: `const seen = new Set();
        const strange = [];
        const natives = [];
        let count = 0;
        function walk(value, path) {
          if (value === null || (typeof value !== 'object' && typeof value !== 'function') || seen.has(value) || count > 100000) return;
          seen.add(value);
          count++;
          let end = value;
          for (let at = value; at !== null; at = Object.getPrototypeOf(at)) end = at;
          if (end !== Object.prototype && end !== value) strange.push(path);
          if (typeof value === 'function' && value !== Function.prototype && !(value instanceof Function)) strange.push(path + ' (function of another realm)');
          for (const key of Reflect.ownKeys(value)) {
            const name = path + '.' + String(key);
            if (/ivm|isolated|platform:|^(native|leave|connect|outbox)$/i.test(String(key))) natives.push(name);
            const descriptor = Object.getOwnPropertyDescriptor(value, key);
            for (const part of ['value', 'get', 'set']) if (descriptor[part] !== undefined) walk(descriptor[part], name + (part === 'value' ? '' : '#' + part));
            if (descriptor.get !== undefined) { try { walk(value[key], name + '()'); } catch {} }
          }
          const prototype = Object.getPrototypeOf(value);
          if (prototype !== null) walk(prototype, path + '.__proto__');
        }
        export default { async fetch(request, env, ctx) {
          walk(globalThis, 'globalThis'); walk(env, 'env'); walk(ctx, 'ctx'); walk(request, 'request'); walk(new Response('x'), 'response');
          const pair = new WebSocketPair(); walk(pair, 'pair'); walk(new Event('x'), 'event'); walk(new MessageChannel(), 'channel');
          walk(new ReadableStream(), 'stream'); walk(new TransformStream(), 'transform'); walk(crypto.subtle, 'subtle'); walk(caches, 'caches'); walk(new HTMLRewriter(), 'rewriter');
          const key = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, true, ['sign']); walk(key, 'key'); walk(await crypto.subtle.exportKey('jwk', key), 'jwk'); walk(await crypto.subtle.digest('SHA-256', new Uint8Array(1)), 'digest');
          for (const call of [() => crypto.subtle.importKey('raw', new Uint8Array(1), 'AES-GCM', false, ['encrypt']), () => caches.default.put('x', new Response()), () => fetch('http://127.0.0.1:1/'), () => env.nothing.get('x'), () => new TextDecoder('nope'), () => new URL('::'), () => globalThis[Symbol.for('platform.node')]?.crypto({ op: 'nope' }, [])]) { try { walk(await call(), 'answer'); } catch (error) { walk(error, 'callError'); } }
          walk(new AbortController().signal, 'signal'); walk(AbortSignal.timeout(1), 'timeout'); walk(structuredClone({ a: new Map([[1, new Error('x')]]) }), 'clone');
          walk((function* () {})(), 'generator'); walk((async function* () {})(), 'asyncGenerator');
          try { await fetch('http://169.254.169.254/'); } catch (error) { walk(error, 'fetchError'); }
          try { null.x; } catch (error) { walk(error, 'error'); }
          return Response.json({ count, strange, natives });
        } };`,
      },
      thief: `const stolen = Object.create(null);
        let taken = 0;
        const apply = Reflect.apply;
        const hook = (prototype, name) => {
          const original = prototype[name];
          Object.defineProperty(prototype, name, { configurable: true, writable: true, value: function (...args) { stolen[taken++] = this; for (let at = 0; at < args.length; at++) stolen[taken++] = args[at]; return apply(original, this, args); } });
        };
        export default { async fetch(request, env, ctx) {
          const { pathname } = new URL(request.url);
          if (pathname === '/arm') {
            for (const name of ['push', 'pop', 'find', 'findIndex', 'splice', 'filter', 'map', 'indexOf', 'shift', 'forEach', 'values']) hook(Array.prototype, name);
            for (const name of ['get', 'set', 'delete', 'has', 'forEach', 'values', 'entries']) hook(Map.prototype, name);
            for (const name of ['add', 'has', 'delete']) hook(Set.prototype, name);
            for (const name of ['then']) hook(Promise.prototype, name);
            for (const [object, name] of [[Reflect, 'apply'], [JSON, 'stringify'], [JSON, 'parse'], [Promise, 'resolve']]) hook(object, name);
            for (const index of [0, 1, 2]) Object.defineProperty(Array.prototype, index, { configurable: true, set(value) { stolen[taken++] = value; Object.defineProperty(this, index, { value, writable: true, configurable: true, enumerable: true }); } });
            Error.prepareStackTrace = (error, sites) => { for (const site of sites) { stolen[taken++] = site.getThis?.(); stolen[taken++] = site.getFunction?.(); } return String(error); };
            return new Response('armed');
          }
          if (pathname === '/use') {
            ctx.waitUntil(scheduler.wait(1)); setTimeout(() => {}, 1); console.log('x'); new Error('x').stack;
            const clone = structuredClone({ a: [1] });
            await crypto.subtle.digest('SHA-256', new Uint8Array(4));
            await fetch('http://127.0.0.1:1/').catch(() => {});
            return new Response(new ReadableStream({ start(controller) { controller.enqueue(new Uint8Array(3)); controller.close(); } }));
          }
          if (pathname === '/spin') { for (const id in stolen) { const thing = stolen[id]; if (thing !== null && typeof thing === 'object') for (const key of ['limit', 'used', 'account']) { try { thing[key] = key === 'limit' ? 0 : key === 'used' ? -1e9 : { used: -1e9, limit: 0 }; } catch {} } } for (;;); }
          let loot = 0;
          for (const id in stolen) { const thing = stolen[id]; if (thing !== null && typeof thing === 'object' && ('account' in thing || 'limit' in thing || 'waiting' in thing)) loot++; }
          return new Response('{"loot":' + loot + ',"taken":' + taken + '}');
        } };`,
      // Functions of the guest are strict: they show neither their callers nor their arguments, nor themselves to a
      // stack trace.
      callers: `const found = [];
        const look = (name, thing) => { if (typeof thing !== 'function') return; for (const key of ['caller', 'arguments']) { try { if (thing[key] !== undefined && thing[key] !== null) found.push(name + '.' + key); } catch {} } };
        function fetchHandler(request, env, ctx) {
          const before = Error.prepareStackTrace;
          Error.prepareStackTrace = (error, sites) => sites;
          Error.stackTraceLimit = Infinity;
          for (const site of new Error('x').stack) { if (site.getFunction() !== undefined && /platform:/.test(String(site.getFileName()))) found.push('getFunction of ' + site.getFunctionName()); const self = site.getThis(); if (self !== undefined && self !== null && self !== globalThis) found.push('getThis of ' + site.getFunctionName()); }
          Error.prepareStackTrace = before;
          for (const name of Object.getOwnPropertyNames(globalThis)) { const value = globalThis[name]; look(name, value); if (typeof value === 'function' && value.prototype) for (const key of Object.getOwnPropertyNames(value.prototype)) { try { look(name + '.' + key, value.prototype[key]); } catch {} } }
          return Response.json([...new Set(found)]);
        }
        export default { fetch: (request, env, ctx) => fetchHandler(request, env, ctx) };`,
      getter: `let calls = 0; export default { get fetch() { if (calls++ === 0) for (;;); return () => new Response('no'); } };`,
      victim: `export default { fetch: () => new Response('fine') };`,
    },
    { startupCpuMs: 200, cpu: { http: cpu, queue: cpu, timer: cpu, cron: cpu, workflow: cpu } },
  );
});
after(() => handler.close());

test('nothing of another realm or of the engine is reachable from a worker', async () => {
  const found = (await handler.fetch('walk')).json() as { count: number; strange: string[]; natives: string[] };
  assert.ok(found.count > 1000, `only ${found.count} objects were visited`);
  assert.deepEqual(found.natives, []);
  assert.deepEqual(found.strange, []);
});

test('functions of the guest show neither callers nor arguments nor themselves', async () => {
  assert.deepEqual((await handler.fetch('callers')).json(), []);
});

test('patched built-ins are never handed an invocation or its account, and the CPU limit holds', async () => {
  assert.equal((await handler.fetch('thief', '/arm')).text, 'armed');
  for (let round = 0; round < 5; round++) await handler.fetch('thief', '/use');
  const { loot, taken } = (await handler.fetch('thief', '/loot')).json() as { loot: number; taken: number };
  assert.ok(taken > 0, 'the hooks were called');
  assert.equal(loot, 0);
  const spin = await handler.fetch('thief', '/spin');
  assert.equal((spin.json() as { code: string }).code, 'cpu_limit_exceeded');
  assert.equal((await handler.fetch('victim')).text, 'fine');
});

test('an export that is a getter without end ends at the startup limit, off the main thread', async () => {
  const [bad, good] = await Promise.all([handler.fetch('getter'), handler.fetch('victim')]);
  assert.equal((bad.json() as { code: string }).code, 'startup_cpu_limit_exceeded');
  assert.equal(good.text, 'fine');
});
