// Every method of every binding with hostile arguments: getters that throw, proxies, thenables, `toJSON` that makes
// calls of its own, detached buffers, broken streams. Each call ends, the host never fails on what it was given, and
// the bindings work afterwards. FUZZ_SEED repeats a run, FUZZ_TIMES=10 makes it ten times as long.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

const worker = `
const CALLS = 60;
/** What V8 says when code trips over a value: from the host, the value was not validated. */
const TRIPPED = /^(?:Cannot (?:read|set|convert|destructure|mix|perform)|.* is not (?:a function|iterable|a constructor)|Reduce of|Invalid (?:array|string) length|The "[^"]+" (?:argument|property) must)/;

function hostileValues(random, env) {
  const pick = (list) => list[Math.floor(random() * list.length)];
  const thrower = () => { throw new Error('from a getter'); };
  const detached = () => { const bytes = new Uint8Array(16); bytes.buffer.transfer(); return bytes; };
  const nested = () => { let value = 1; for (let at = 0; at < 2000; at++) value = [value]; return value; };
  const cycle = () => { const value = { a: 1 }; value.self = value; return value; };
  const simple = [
    () => undefined, () => null, () => true, () => 0, () => -1, () => NaN, () => Infinity, () => 1e21, () => 2 ** 53, () => 1.5, () => 1n,
    () => '', () => 'a', () => 'key', () => '\\0', () => '\\ud800', () => '../../x', () => '__proto__', () => 'constructor', () => 'x'.repeat(5000), () => 'ü/ä?#%00',
    () => 'SELECT 1', () => 'INSERT INTO none VALUES (?)', () => Symbol('s'), () => Symbol.iterator, () => () => 1, () => class {}, () => new Date(NaN), () => new Date(0),
    () => /x/g, () => new Map([[1, 2]]), () => new Set([{}]), () => new Error('e'), () => new Proxy({}, { get: thrower, ownKeys: thrower, has: thrower, getPrototypeOf: thrower }),
    () => new Proxy(() => 1, { apply: thrower }), () => ({ get then() { thrower(); } }), () => ({ then(resolve) { resolve('of a thenable'); } }), () => ({ then(_, reject) { reject(new Error('of a thenable')); } }),
    () => ({ then() {} , key: 1 }), () => ({ toString: thrower, valueOf: thrower }), () => ({ [Symbol.toPrimitive]: thrower }), () => ({ toString: () => ({}) }), () => ({ length: 2 ** 53 }), () => ({ length: -1, 0: 'a' }),
    () => Object.create(null), () => [], () => [undefined, , null], () => Array(3000), () => Array.from({ length: 300 }, (_, at) => 'k' + at), cycle, nested, detached,
    () => new Uint8Array(3), () => new Uint8Array(0), () => new ArrayBuffer(8), () => new SharedArrayBuffer(8), () => new DataView(new ArrayBuffer(4)), () => new Float64Array(2), () => new ArrayBuffer(4, { maxByteLength: 16 }),
    () => new ReadableStream({ pull(controller) { controller.error(new Error('of a stream')); } }), () => new ReadableStream({ start(controller) { controller.enqueue('text'); controller.close(); } }),
    () => new ReadableStream({ start(controller) { controller.enqueue(new Uint8Array(4)); controller.close(); } }), () => new Blob(['blob']), () => new Request('http://a.example/'), () => new Response('r'), () => new URL('http://a.example/?q'),
    () => new Headers({ a: 'b' }), () => env, () => env.KV, () => globalThis,
    () => ({ toJSON() { env.KV.get('nested').catch(() => {}); return 'written'; } }), () => ({ toJSON: thrower }), () => ({ toJSON() { return this; } }),
  ];
  const names = ['key', 'prefix', 'limit', 'cursor', 'type', 'expiration', 'expirationTtl', 'metadata', 'delaySeconds', 'dedupeId', 'orderingKey', 'contentType', 'id', 'params', 'input', 'retries', 'range',
    'onlyIf', 'httpMetadata', 'customMetadata', 'sha256', 'offset', 'length', 'suffix', 'ttl', 'payload', 'body', 'at', 'afterMs', 'intervalMs', 'cron', 'timezone', 'partNumber', 'etag', 'method', 'url', 'headers', 'signal',
    'transaction', 'version', 'delimiter', 'expiresInSeconds', 'sizeMax', '$inc', '$set', 'email', 'password', 'token', 'userId'];
  const value = (depth = 0) => {
    const kind = random();
    if (depth > 2 || kind < 0.6) return pick(simple)();
    if (kind < 0.7) return Array.from({ length: Math.floor(random() * 4) }, () => value(depth + 1));
    const made = {};
    for (let more = Math.floor(random() * 4); more >= 0; more--) {
      const name = pick(names);
      const inner = random() < 0.1 ? { get: thrower } : { value: value(depth + 1) };
      Object.defineProperty(made, name, { ...inner, enumerable: true, configurable: true });
    }
    return made;
  };
  return { pick, value };
}

function methodsOf(thing) {
  const names = new Set();
  for (let at = thing; at !== null && at !== Object.prototype && at !== Function.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) {
      if (name === 'constructor') continue;
      try { if (typeof thing[name] === 'function') names.add(name); } catch {}
    }
  return [...names];
}

const within = (promise, ms) => Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms, 'waits'))]);

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const { KV, FS, Q, W, T, CACHE, DB } = env;
    if (pathname === '/works') {
      await KV.put('works', 'yes'); await FS.put('works', 'yes'); await CACHE.set('works', 'yes', { ttl: 60 });
      return Response.json([await KV.get('works'), await (await FS.get('works')).text(), await CACHE.get('works'), await DB.prepare('SELECT 1 AS one').first('one'),
        typeof (await Q.send('works')).messageId, await T.get('none'), typeof (await W.create({ params: null })).id]);
    }
    let state = Number(searchParams.get('seed')) >>> 0;
    // Its numbers in a row are not related, as those of a linear generator are.
    const random = () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
    const { pick, value } = hostileValues(random, env);
    const things = [KV, FS, Q, W, T, CACHE, DB, DB.prepare('SELECT ?'), caches.default, env.PLATFORM_AUTH];
    const own = things.length;
    const found = [];
    let made = 0;
    for (let at = 0; at < CALLS; at++) {
      const thing = pick(things);
      const methods = methodsOf(thing);
      if (methods.length === 0) continue;
      const name = pick(methods);
      const said = (things.indexOf(thing) < own ? ['KV', 'FS', 'Q', 'W', 'T', 'CACHE', 'DB', 'statement', 'caches', 'auth'][things.indexOf(thing)] : 'made') + '.' + name;
      made++;
      try {
        const given = Array.from({ length: Math.floor(random() * 4) }, () => value());
        const answer = await within(thing[name](...given), 500);
        if (answer !== null && typeof answer === 'object' && things.length < 40) things.push(answer);
      } catch (error) {
        if (error === null || typeof error !== 'object') continue;
        const inner = error.cause ?? error;
        if (inner.code === 'internal' || (inner.code === 'TypeError' && TRIPPED.test(String(inner.message)))) found.push(said + ': ' + inner.code + ' ' + inner.message);
      }
    }
    return Response.json({ made, found });
  },
  queue() {},
  timer() {},
  workflows: { runs: () => 1 },
};
`;

let folder: string;
let dev: TestDev;
before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'platform-fuzz-bindings-'));
  mkdirSync(path.join(folder, 'src'));
  writeFileSync(path.join(folder, 'src/index.js'), worker);
  writeFileSync(
    path.join(folder, 'platform.yaml'),
    'state: { KV: kept }\nfs: { FS: files }\nqueue: { Q: mail }\nworkflow: { W: runs }\ntimer: { T: clock }\ncache: { CACHE: pages }\ndb: { DB: main }\nauth: { binding: PLATFORM_AUTH }\n',
  );
  dev = await startDevHere(folder);
});
after(async () => {
  await dev.close();
  rmSync(folder, { recursive: true, force: true });
});

test('no argument of a binding trips the host, and its bindings work afterwards', async () => {
  const random = createSeededRandom();
  let made = 0;
  for (let round = fuzzRounds(3); round > 0; round--) {
    const seed = random.below(2 ** 32);
    const response = await dev.fetch(`/?seed=${seed}`);
    assert.equal(response.status, 200, `seed ${random.seed}, of the request ${seed}: ${response.text}`);
    const told = response.json() as { made: number; found: readonly string[] };
    assert.deepEqual(told.found, [], `seed ${random.seed}, of the request ${seed}`);
    made += told.made;
  }
  assert.ok(made > 100, `${made} calls`);
  const works = ['yes', 'yes', 'yes', 1, 'string', null, 'string'];
  assert.deepEqual((await dev.fetch('/works')).json(), works, `seed ${random.seed}`);
});
