// The Cache API in workers: what is found again, by whom, and what is never kept.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;

// Runs the function that a test sends, with the cache in scope.
const runner = `export default { async fetch(request, env, context) {
  const run = new Function('cache', 'request', 'return (async () => {' + (await request.text()) + '})()');
  const result = await run(caches.default, request);
  return result instanceof Response ? result : Response.json(result === undefined ? 'undefined' : result);
} };`;

before(async () => {
  handler = await startHandler({ first: runner, second: runner }, { cacheEntryBytesMax: 300_000 });
});
after(() => handler.close());

async function run(code: string, project = 'first'): Promise<unknown> {
  const response = await handler.fetch(project, '/', { method: 'POST', body: code });
  assert.equal(response.status, 200, response.text);
  return response.json();
}

test('what was put is matched by later requests, with its age, until it is deleted', async () => {
  assert.equal(
    await run(
      `return cache.put('http://a/x#part', new Response('kept', { status: 404, headers: { 'cache-control': 'max-age=60', 'x-a': 'b' } }))`,
    ),
    'undefined',
  );
  assert.deepEqual(
    await run(`
      const found = await cache.match('http://a/x');
      let frozen; try { found.headers.set('x-a', 'c') } catch (error) { frozen = error.name }
      return [found.status, await found.text(), found.headers.get('x-a'), found.headers.get('age'), frozen, found instanceof Response];`),
    [404, 'kept', 'b', '0', 'TypeError', true],
  );
  assert.deepEqual(
    await run(
      `return [await cache.delete('http://a/x'), await cache.delete('http://a/x'), typeof await cache.match('http://a/x')]`,
    ),
    [true, false, 'undefined'],
  );
});

test('a matched response can be returned as it is', async () => {
  await run(
    `await cache.put(new Request('http://a/page'), new Response('<p>', { headers: { 'content-type': 'text/html' } }))`,
  );
  const response = await handler.fetch('first', '/', { method: 'POST', body: `return cache.match('http://a/page')` });
  assert.deepEqual(
    [response.text, response.headers['content-type'], response.headers['age']],
    ['<p>', 'text/html', '0'],
  );
});

test('projects have caches of their own, and so has every name', async () => {
  await run(
    `await cache.put('http://a/own', new Response('first')); const other = await caches.open('other'); await other.put('http://a/own', new Response('other'))`,
  );
  assert.equal(await run(`return typeof await cache.match('http://a/own')`, 'second'), 'undefined');
  assert.equal(await run(`return (await (await caches.open('other')).match('http://a/own')).text()`), 'other');
  assert.equal(await run(`return (await cache.match('http://a/own')).text()`), 'first');
  assert.equal(await run(`return typeof await (await caches.open('third')).match('http://a/own')`), 'undefined');
});

test('what says that it must not be shared, or has no life left, is not kept', async () => {
  assert.deepEqual(
    await run(`
      const kept = [];
      let count = 0;
      for (const headers of [
        {}, { 'cache-control': 'max-age=60' }, { 'cache-control': 'no-store' }, { 'cache-control': 'private, max-age=60' }, { 'cache-control': 'no-cache' },
        { 'cache-control': 'max-age=0' }, { 'cache-control': 'max-age=0, s-maxage=60' }, { 'cache-control': 'max-age=60, s-maxage=0' }, { 'cache-control': 'MAX-AGE="60"' },
        { 'cache-control': 'max-age=60', age: '60' }, { expires: new Date(Date.now() + 60000).toUTCString() }, { expires: new Date(0).toUTCString() }, { expires: '0' },
        { 'set-cookie': 'a=b' }, { 'set-cookie': 'a=b', 'cache-control': 'private="Set-Cookie", max-age=60' },
      ]) {
        const url = 'http://a/life' + count++;
        await cache.put(url, new Response('x', { headers }));
        const found = await cache.match(url);
        kept.push(found === undefined ? false : found.headers.has('set-cookie') ? 'cookie' : true);
      }
      await cache.put('http://a/status', new Response('x', { status: 500 }));
      return [kept, typeof await cache.match('http://a/status')];`),
    [[true, true, false, false, false, false, true, false, true, false, true, false, false, false, true], 'undefined'],
  );
});

test('variants of a URL are told apart by the headers that the response varies by', async () => {
  assert.deepEqual(
    await run(`
      const of = (language) => new Request('http://a/vary', { headers: { 'accept-language': language } });
      for (const language of ['de', 'en']) await cache.put(of(language), new Response(language, { headers: { vary: 'Accept-Language' } }));
      const texts = [];
      for (const language of ['de', 'en', 'fr']) texts.push(await (await cache.match(of(language)))?.text() ?? null);
      await cache.delete('http://a/vary');
      await cache.put(of('fr'), new Response('fr', { headers: { vary: 'accept-language' } }));
      for (const language of ['de', 'fr']) texts.push(await (await cache.match(of(language)))?.text() ?? null);
      await cache.put(of('fr'), new Response('plain'));
      texts.push(await (await cache.match(of('de'))).text());
      return texts;`),
    ['de', 'en', null, null, 'fr', 'plain'],
  );
});

test('a request that has what is kept already is answered 304', async () => {
  assert.deepEqual(
    await run(`
      await cache.put('http://a/etag', new Response('x', { headers: { etag: 'W/"1"', 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT' } }));
      const statuses = [];
      for (const headers of [{ 'if-none-match': '"0", "1"' }, { 'if-none-match': '"2"' }, { 'if-none-match': '*' }, { 'if-modified-since': 'Thu, 01 Jan 2026 00:00:00 GMT' }, { 'if-modified-since': 'Wed, 31 Dec 2025 00:00:00 GMT' }, { 'if-modified-since': 'soon' }])
        statuses.push((await cache.match(new Request('http://a/etag', { headers }))).status);
      return statuses;`),
    [304, 200, 304, 304, 200, 200],
  );
});

test('put refuses what the standard refuses, and match and delete find nothing for other methods', async () => {
  assert.deepEqual(
    await run(`
      const errors = [];
      const used = new Response('x'); await used.text();
      for (const [request, response] of [
        [new Request('http://a/', { method: 'POST' }), new Response()], ['http://a/', new Response('x', { status: 206 })],
        ['http://a/', new Response('x', { headers: { vary: 'a, *' } })], ['http://a/', used], ['http://a/', 'text'], ['not a url', new Response()], ['data:,x', new Response()],
      ]) errors.push(await cache.put(request, response).then(() => null, (error) => error.name));
      await cache.put('http://a/method', new Response('x'));
      const head = new Request('http://a/method', { method: 'HEAD' });
      return [errors, typeof await cache.match(head), await (await cache.match(head, { ignoreMethod: true })).text(), await cache.delete(head), await cache.delete(head, { ignoreMethod: true })];`),
    [Array.from({ length: 7 }, () => 'TypeError'), 'undefined', 'x', false, true],
  );
});

test('streamed and large bodies come back whole, and what is too large is not kept', async () => {
  assert.deepEqual(
    await run(`
      const chunks = (count) => { let at = 0; return new ReadableStream({ pull(controller) { if (at++ === count) controller.close(); else controller.enqueue(new Uint8Array(10_000).fill(at)); } }) };
      await cache.put('http://a/stream', new Response(chunks(20)));
      const bytes = await (await cache.match('http://a/stream')).bytes();
      await cache.put('http://a/large', new Response(chunks(31)));
      await cache.put('http://a/endless', new Response(chunks(Infinity)));
      await cache.put('http://a/text', new Response('x'.repeat(300_001)));
      const failed = await cache.put('http://a/broken', new Response(new ReadableStream({ pull() { throw new RangeError('inside') } }))).then(() => null, (error) => error.message);
      const missing = [];
      for (const name of ['large', 'endless', 'text', 'broken']) missing.push(typeof await cache.match('http://a/' + name));
      return [bytes.length, bytes[0], bytes.at(-1), missing, failed];`),
    [200_000, 1, 20, ['undefined', 'undefined', 'undefined', 'undefined'], 'The body of the response failed: inside'],
  );
});

test('the interfaces are there and cannot be constructed', async () => {
  assert.deepEqual(
    await run(`
      const attempt = (make) => { try { make(); return 'made' } catch (error) { return error.message } };
      return [String(caches), String(cache), caches.default === caches.default, caches instanceof CacheStorage, cache instanceof Cache,
        attempt(() => new Cache()), attempt(() => new CacheStorage()), Object.keys(Cache.prototype)];`),
    [
      '[object CacheStorage]',
      '[object Cache]',
      true,
      true,
      true,
      'Illegal constructor',
      'Illegal constructor',
      ['match', 'put', 'delete', 'add', 'addAll'],
    ],
  );
});
