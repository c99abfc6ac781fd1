// The file binding from inside a worker.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { noStores } from '#test/setup/no-stores.ts';
import { openFilesDisk } from '#runtime/stores/files-disk.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const worker = `
export default {
  async fetch(request, { FILES }) {
    const url = new URL(request.url);
    if (url.pathname !== '/') {
      if (request.method === 'PUT') return Response.json(await FILES.put(url.pathname.slice(1), request.body, { httpMetadata: request.headers }));
      const file = await FILES.get(url.pathname.slice(1), { range: request.headers, onlyIf: request.headers });
      if (file === null) return new Response('none', { status: 404 });
      const headers = new Headers({ etag: file.httpEtag });
      file.writeHttpMetadata(headers);
      return new Response(file.body, { status: file.body ? (request.headers.has('range') ? 206 : 200) : 304, headers });
    }
    const run = new Function('FILES', 'return (async () => {' + (await request.text()) + '})()');
    try { return Response.json((await run(FILES)) ?? null); }
    catch (error) { return Response.json(error.name + ': ' + error.message); }
  },
};`;

let handler: TestHandler;
let folder: string;
let fs: ReturnType<typeof openFilesDisk>;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platform-files-'));
  fs = openFilesDisk(folder);
  handler = await startHandler(
    { app: { files: worker, yaml: 'fs:\n  FILES: pictures\n' } },
    {},
    { stores: { ...noStores, files: fs } },
  );
});
after(async () => {
  await handler.close();
  fs.close();
  await rm(folder, { recursive: true });
});

async function run(code: string): Promise<unknown> {
  return (await handler.fetch('app', '/', { method: 'POST', body: code })).json();
}

test('every kind of value is stored and read in every form', async () => {
  assert.deepEqual(
    await run(`
      const put = await FILES.put('text', 'grün', { metadata: { by: 'ada' } });
      await FILES.put('bytes', new Uint8Array([1, 2, 3]).subarray(1));
      await FILES.put('blob', new Blob(['blob'], { type: 'text/x' }));
      await FILES.put('stream', new Response('streamed').body, { contentType: 'text/y' });
      const text = await FILES.get('text');
      return [
        [put.key, put.size, put.etag.length, put.httpEtag === '"' + put.etag + '"', put.uploadedAt instanceof Date],
        [await text.text(), text.contentType, text.metadata, text.customMetadata, text.bodyUsed],
        [...(await (await FILES.get('bytes')).bytes())],
        [await (await (await FILES.get('blob')).blob()).text(), (await FILES.head('blob')).httpMetadata.contentType],
        [await new Response((await FILES.get('stream')).body).text(), (await FILES.head('stream')).contentType],
        [await FILES.get('none'), await FILES.head('none')],
      ];`),
    [
      ['text', 5, 32, true, true],
      ['grün', 'text/plain; charset=utf-8', { by: 'ada' }, { by: 'ada' }, true],
      [2, 3],
      ['blob', 'text/x'],
      ['streamed', 'text/y'],
      [null, null],
    ],
  );
});

test('what is put is what it was at that moment, whatever its size and whatever becomes of the bytes', async () => {
  assert.deepEqual(
    await run(`
      const sizes = [0, 1, 65536, 1024 * 1024, 1024 * 1024 + 1, 3_000_000];
      const put = sizes.map((size) => {
        const bytes = new Uint8Array(size + 7).fill(1);
        const done = FILES.put('sized ' + size, bytes.subarray(7));
        bytes.fill(2);
        return done.then(() => bytes.length - 7 === size && bytes.every((byte) => byte === 2));
      });
      const kept = await Promise.all(put);
      const read = await Promise.all(sizes.map(async (size) => {
        const file = await FILES.get('sized ' + size);
        const bytes = await file.bytes();
        return file.size === size && bytes.length === size && bytes.every((byte) => byte === 1);
      }));
      const text = 'ü'.repeat(1_000_000);
      await FILES.put('text', text);
      const large = new Blob([new Uint8Array(2_000_000).fill(3)]);
      await FILES.put('blob', large);
      await FILES.put('blob', large);
      const blob = await (await FILES.get('blob')).bytes();
      return [kept, read, (await (await FILES.get('text')).text()) === text, blob.length, blob.every((byte) => byte === 3)];`),
    [Array(6).fill(true), Array(6).fill(true), true, 2_000_000, true],
  );
});

test('bodies come whole whose calls wait for their turn', async () => {
  assert.deepEqual(
    await run(`
      const heads = Array.from({ length: 200 }, () => FILES.head('none'));
      const puts = [1_048_577, 3_000_000].map((size) => FILES.put('late ' + size, new Uint8Array(size).fill(5)));
      const short = FILES.put('late stream', new Blob([new Uint8Array(300_000).fill(5)]).stream());
      const refused = FILES.put('', new Uint8Array(2_000_000)).catch((error) => error.name);
      await Promise.all([...heads, ...puts, short]);
      const read = await Promise.all(['1048577', '3000000', 'stream'].map(async (name) => {
        const bytes = await (await FILES.get('late ' + name)).bytes();
        return bytes.every((byte) => byte === 5) ? bytes.length : 'other bytes';
      }));
      return [...read, await refused];`),
    [1_048_577, 3_000_000, 300_000, 'TypeError'],
  );
});

test('a hundred files at once come whole', async () => {
  assert.deepEqual(
    await run(`
      const bytes = new Uint8Array(900_000);
      for (let n = 0; n < 4; n++) await FILES.put('many ' + n, bytes.fill(n));
      const read = await Promise.all(Array.from({ length: 100 }, async (_, n) => {
        const file = await (await FILES.get('many ' + n % 4)).bytes();
        return file.length === 900_000 && [0, 65535, 262144, 700_000, 899_999].every((at) => file[at] === n % 4);
      }));
      return read.filter((isWhole) => !isWhole).length;`),
    0,
  );
});

test('an upload and a download stream through the worker, with ranges and conditions', async () => {
  const content = Buffer.alloc(3_000_000, 'abcdefghij');
  const put = await handler.fetch('app', '/large.bin', {
    method: 'PUT',
    body: content,
    headers: { 'content-type': 'text/plain' },
  });
  assert.equal((put.json() as { size: number }).size, 3_000_000);
  const whole = await handler.fetch('app', '/large.bin');
  assert.ok(whole.body.equals(content));
  assert.equal(whole.headers['content-type'], 'text/plain');
  const part = await handler.fetch('app', '/large.bin', { headers: { range: 'bytes=1000003-1000005' } });
  assert.deepEqual([part.status, part.text], [206, 'def']);
  const same = await handler.fetch('app', '/large.bin', {
    headers: { 'if-none-match': String(whole.headers['etag']) },
  });
  assert.equal(same.status, 304);
});

test('an upload in parts is one file when it is complete', async () => {
  assert.deepEqual(
    await run(`
      const upload = await FILES.createMultipartUpload('parts', { contentType: 'a/b' });
      const again = FILES.resumeMultipartUpload('parts', upload.uploadId);
      const parts = await Promise.all([upload.uploadPart(1, 'one'), again.uploadPart(2, new Response('two').body)]);
      const done = await again.complete(parts);
      const file = await FILES.get('parts');
      return [parts.map(({ partNumber }) => partNumber), done.size, await file.text(), file.contentType];`),
    [[1, 2], 6, 'onetwo', 'a/b'],
  );
});

test('an upload that is given no list of its parts says what it takes', async () => {
  assert.deepEqual(
    await run(`
      const upload = await FILES.createMultipartUpload('none');
      const refused = (parts) => upload.complete(parts).catch(({ code, message }) => [code, message]);
      return [await refused(), await refused([null])];`),
    Array(2).fill([
      'invalid_argument',
      'complete takes the list of parts that uploadPart gave: [{ partNumber, etag }, ...]',
    ]),
  );
});

test('a list folds folders and goes on where it stopped', async () => {
  assert.deepEqual(
    await run(`
      for (const key of ['list/a', 'list/b/1', 'list/b/2', 'list/c']) await FILES.put(key, key);
      const first = await FILES.list({ prefix: 'list/', delimiter: '/', limit: 2 });
      const second = await FILES.list({ prefix: 'list/', delimiter: '/', limit: 2, cursor: first.cursor });
      return [first.keys.map(({ key }) => key), first.delimitedPrefixes, first.truncated, second.objects.map(({ key }) => key), second.truncated];`),
    [['list/a'], ['list/b/'], true, ['list/c'], false],
  );
});

test('a cursor that no list gave is refused', async () => {
  const refused = (cursor: string): Promise<unknown> =>
    run(
      `return FILES.list({ cursor: ${JSON.stringify(cursor)} }).then(() => 'taken', ({ code, message }) => [code, message]);`,
    );
  for (const cursor of ['nonsense', 'list/a', 'YQBi', '!'])
    assert.deepEqual(await refused(cursor), ['invalid_argument', 'The cursor is not valid'], cursor);
  // The longest key may be where a page ends.
  assert.equal(
    await run(`
      for (const end of ['x', 'y']) await FILES.put('long/' + 'k'.repeat(1018) + end, '');
      const { cursor } = await FILES.list({ prefix: 'long/', limit: 1 });
      return (await FILES.list({ prefix: 'long/', cursor })).objects[0].key.at(-1);`),
    'y',
  );
});

test('conditions on writes hold, and digests are checked', async () => {
  assert.deepEqual(
    await run(`
      await FILES.put('once', '1');
      const refused = await FILES.put('once', '2', { onlyIf: { etagDoesNotMatch: '*' } });
      const sha256 = await crypto.subtle.digest('SHA-256', new TextEncoder().encode('sum'));
      await FILES.put('sum', 'sum', { sha256 });
      const wrong = await FILES.put('sum', 'other', { sha256 }).catch((error) => error.message.slice(0, 25));
      return [refused, await (await FILES.get('once')).text(), wrong, await (await FILES.get('sum')).text()];`),
    [null, '1', 'The sha256 of the file is', 'sum'],
  );
});

test('digests that a file is put with come back as checksums, as bytes and as JSON', async () => {
  const hex = (name: string): string => createHash(name).update('sum').digest('hex');
  const shown = { md5: hex('md5'), sha256: hex('sha256'), sha512: hex('sha512') };
  assert.deepEqual(
    await run(`
      const put = await FILES.put('sums', 'sum', { sha256: '${shown.sha256.toUpperCase()}', sha512: await crypto.subtle.digest('SHA-512', new TextEncoder().encode('sum')) });
      const found = [put, await FILES.get('sums'), await FILES.head('sums'), (await FILES.list({ prefix: 'sums' })).objects[0]];
      const { checksums } = await FILES.put('sums', 'sum');
      return [found.map((file) => file.checksums), Array.from(new Uint8Array(put.checksums.sha256)).slice(0, 2), put.checksums.sha1 ?? null, checksums,
        await FILES.put('sums', 'sum', { sha1: 'abc' }).catch(String)];`),
    [
      [shown, shown, shown, shown],
      [...createHash('sha256').update('sum').digest().subarray(0, 2)],
      null,
      { md5: shown.md5 },
      'TypeError: sha1 must have 40 hex digits',
    ],
  );
});

test('what cannot be is refused by name', async () => {
  for (const [code, error] of [
    [`await FILES.put('', 'a')`, 'TypeError: The key must not be empty'],
    [
      `await FILES.put('a', 5)`,
      'TypeError: A file must be a string, an ArrayBuffer, a view of one, a Blob or a ReadableStream',
    ],
    [`await FILES.put('a', 'b', { metadata: { n: 5 } })`, 'TypeError: The metadata "n" must be a string'],
    [
      `await FILES.put('a', 'b', { contentType: 'a\\r\\nb' })`,
      'TypeError: contentType must be a header value of at most 1024 characters',
    ],
    [
      `await FILES.get('a', { range: { offset: -1 } })`,
      'TypeError: range.offset must be a whole number from 0 to 9007199254740991',
    ],
    [`await FILES.list({ limit: 0 })`, 'TypeError: limit must be a whole number from 1 to 1000'],
    [
      `await FILES.put('a', new ReadableStream({ start(c) { c.error(new Error('mine')); } }))`,
      'TypeError: The body failed: mine',
    ],
  ] as const)
    assert.equal(await run(code), error, code);
});

test('a signed address reads or writes one file, for its time, and nothing else', async () => {
  const [put, get] = (await run(`
    return [await FILES.createSignedUrl('signed', { method: 'PUT', sizeMax: 5 }), await FILES.createSignedUrl('signed')];`)) as [
    string,
    string,
  ];
  const pathOf = (address: string): string => new URL(address).pathname;
  assert.equal(new URL(get).host, 'app.localhost');
  const send = (path: string, method = 'GET', body?: string): ReturnType<TestHandler['fetch']> =>
    handler.fetch('app', path, {
      method,
      ...(body === undefined ? {} : { body }),
      headers: { 'content-type': 'text/x' },
    });
  assert.equal((await send(pathOf(get))).status, 404);
  assert.equal((await send(pathOf(put), 'PUT', 'too large')).status, 413);
  assert.deepEqual((await send(pathOf(put), 'PUT', 'right')).json(), {
    key: 'signed',
    size: 5,
    etag: '7c4f29407893c334a6cb7a87bf045c0d',
  });
  const read = await send(pathOf(get));
  assert.deepEqual(
    [read.status, read.text, read.headers['content-type'], read.headers['content-security-policy']],
    [200, 'right', 'text/x', 'sandbox'],
  );
  assert.equal((await handler.fetch('app', pathOf(get), { headers: { range: 'bytes=1-2' } })).text, 'ig');
  const behind = await handler.fetch('app', pathOf(get), { headers: { range: 'bytes=5-' } });
  assert.deepEqual([behind.status, behind.headers['content-range']], [416, 'bytes */5']);
  assert.equal((await handler.fetch('app', pathOf(get), { headers: { range: 'bytes=3-1' } })).text, 'right');
  assert.equal((await send(pathOf(get), 'PUT', 'x')).status, 405);
  assert.equal((await send(pathOf(put))).status, 405);
  assert.equal((await send(`${pathOf(get)}x`)).status, 403);
  assert.equal((await send(pathOf(get).replace(/files\/..../, 'files/AAAA'))).status, 403);
  assert.equal((await send('/_platform/files/')).status, 403);
});

test('bytes that are stored under several names in one go are whole under each', async () => {
  assert.deepEqual(
    await run(`
      const bytes = new Uint8Array(700_000).fill(7);
      await Promise.all(['one', 'two', 'three'].map((name) => FILES.put(name, bytes)));
      const sizes = [];
      for (const name of ['one', 'two', 'three']) {
        const stored = await (await FILES.get(name)).bytes();
        sizes.push([stored.length, stored.every((byte) => byte === 7)]);
      }
      return [bytes.length, ...sizes];
    `),
    [700_000, [700_000, true], [700_000, true], [700_000, true]],
  );
});
