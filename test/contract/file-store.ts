// What every store of files keeps to. Each store runs it from a test file of its own.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { Readable } from 'node:stream';
import type { FileStore, FileWrite } from '#runtime/engine/bindings/files.ts';

const plain: FileWrite = { headers: {}, metadata: {}, onlyIf: null, digests: {}, bytesMax: 1e9 };
const everything = { range: null, onlyIf: null };

function body(content: string | Uint8Array): Readable {
  return Readable.from([Buffer.from(content)], { objectMode: false });
}

async function text(stream: Readable | null | undefined): Promise<string | null> {
  if (stream == null) return null;
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Registers the suite's tests over the store that `open` gives. */
export function fileStoreContract(
  open: () => Promise<{ store: FileStore; close(): Promise<void> }>,
  /** Whether keys may have the segments `.` and `..`; a store that cannot keep them refuses them. */
  // `exact`: the S3 server of the tests compares no etags of parts, forgets no upload, and counts no folded prefixes in
  // a page.
  { dotSegments = true, exact = true, listsDigests = true } = {},
): void {
  let store: FileStore;
  let close: () => Promise<void>;
  const at = { namespace: 'shop', resource: 'pictures' };
  before(async () => {
    ({ store, close } = await open());
  });
  after(() => close());
  const read = async (key: string, options: Parameters<FileStore['get']>[2] = everything): Promise<string | null> =>
    text((await store.get(at, key, options))?.body);

  test('a file comes back with its head', async () => {
    const headers = { contentType: 'image/svg+xml', cacheControl: 'max-age=5' };
    const put = await store.put(at, 'a/grün.svg', body('<svg/>'), {
      ...plain,
      headers,
      metadata: { by: 'ada', Ünï: 'ø' },
    });
    const found = await store.get(at, 'a/grün.svg', everything);
    assert.equal(await text(found?.body), '<svg/>');
    assert.deepEqual(found?.head, put);
    assert.deepEqual(await store.head(at, 'a/grün.svg'), put);
    assert.equal(put?.size, 6);
    assert.equal(put?.etag, createHash('md5').update('<svg/>').digest('hex'));
    assert.deepEqual([put?.headers, put?.metadata], [headers, { by: 'ada', Ünï: 'ø' }]);
    assert.equal(await store.head(at, 'none'), null);
    assert.equal(await store.get(at, 'none', everything), null);
  });

  test('writing again replaces all of a file, while a reader still gets the old one', async () => {
    await store.put(at, 'again', body('one'), { ...plain, metadata: { n: '1' } });
    const reader = await store.get(at, 'again', everything);
    const second = await store.put(at, 'again', body('second'), plain);
    assert.equal(await text(reader?.body), 'one');
    assert.equal(await read('again'), 'second');
    assert.deepEqual(second?.metadata, {});
    assert.notEqual(second?.version, reader?.head.version);
  });

  test('a range gives its bytes, and no more than there are', async () => {
    await store.put(at, 'range', body('0123456789'), plain);
    const get = async (
      range: Parameters<FileStore['get']>[2]['range'],
    ): Promise<[string | null, object | undefined]> => {
      const found = await store.get(at, 'range', { range, onlyIf: null });
      return [await text(found?.body), found?.range];
    };
    assert.deepEqual(await get({ offset: 2, length: 3 }), ['234', { offset: 2, length: 3 }]);
    assert.deepEqual(await get({ offset: 8, length: 30 }), ['89', { offset: 8, length: 2 }]);
    assert.deepEqual(await get({ suffix: 4 }), ['6789', { offset: 6, length: 4 }]);
    assert.deepEqual(await get({ suffix: 40 }), ['0123456789', { offset: 0, length: 10 }]);
    await assert.rejects(get({ offset: 10 }), { code: 'invalid_argument' });
  });

  test('a condition that does not hold changes and reads nothing', async () => {
    const { etag } = (await store.put(at, 'if', body('one'), plain))!;
    assert.equal(await store.put(at, 'if', body('two'), { ...plain, onlyIf: { etagDoesNotMatch: ['*'] } }), null);
    assert.equal(await store.put(at, 'if', body('two'), { ...plain, onlyIf: { etagMatches: ['other'] } }), null);
    assert.equal(await read('if'), 'one');
    assert.notEqual(await store.put(at, 'if', body('two'), { ...plain, onlyIf: { etagMatches: [etag] } }), null);
    assert.notEqual(
      await store.put(at, 'if new', body('new'), { ...plain, onlyIf: { etagDoesNotMatch: ['*'] } }),
      null,
    );
    const unchanged = await store.get(at, 'if new', {
      range: null,
      onlyIf: { etagDoesNotMatch: [(await store.head(at, 'if new'))!.etag] },
    });
    assert.equal(unchanged?.body, null);
    assert.equal(unchanged?.head.size, 3);
  });

  test('bytes that are not what their digest says are not kept', async () => {
    const sha256 = createHash('sha256').update('content').digest('hex');
    await store.put(at, 'sum', body('content'), { ...plain, digests: { sha256 } });
    for (const digests of [{ sha256: '0'.repeat(64) }, { md5: '0'.repeat(32) }])
      await assert.rejects(store.put(at, 'sum', body('other'), { ...plain, digests }), { code: 'invalid_argument' });
    assert.equal(await read('sum'), 'content');
  });

  test('digests that a file is written with are checked and come back, each of them, until it is written again', async () => {
    const of = (name: string): string => createHash(name).update('content').digest('hex');
    const digests = {
      md5: of('md5'),
      sha1: of('sha1'),
      sha256: of('sha256'),
      sha384: of('sha384'),
      sha512: of('sha512'),
    };
    assert.deepEqual((await store.put(at, 'sums', body('content'), { ...plain, digests }))?.digests, digests);
    assert.deepEqual((await store.head(at, 'sums'))?.digests, digests);
    const found = await store.get(at, 'sums', everything);
    assert.deepEqual([found?.head.digests, await text(found?.body)], [digests, 'content']);
    // The store may take a body's memory when it is done with it, and not before.
    for (const bytes of [300_000, 1_000_000, 9_000_000]) {
      const large = new Uint8Array(randomBytes(bytes));
      const sum = (name: string): string => createHash(name).update(large).digest('hex');
      const [md5, sha512] = [sum('md5'), sum('sha512')];
      const put = await store.put(at, 'sums large', large, { ...plain, digests: { sha512 } });
      assert.deepEqual([put?.digests, bytes > 8_000_000 || put?.etag], [{ sha512 }, bytes > 8_000_000 || md5]);
    }
    for (const name of Object.keys(digests))
      await assert.rejects(
        store.put(at, 'sums', body('other'), {
          ...plain,
          digests: { ...digests, [name]: of(name).replace(/^./, 'x') },
        }),
        {
          code: 'invalid_argument',
        },
      );
    const listed = (await store.list(at, { prefix: 'sums', delimiter: '', cursor: null, limit: 10 })).files;
    // A bucket's list does not say.
    assert.deepEqual(
      listed.map((file) => file.digests),
      listsDigests ? [digests, (await store.head(at, 'sums large'))?.digests] : [{}, {}],
    );
    assert.deepEqual((await store.put(at, 'sums', body('content'), plain))?.digests, {});
    assert.deepEqual((await store.head(at, 'sums'))?.digests, {});
  });

  test('a file over its limit, and one whose body breaks off, is not kept', async () => {
    await store.put(at, 'whole', body('whole'), plain);
    await assert.rejects(store.put(at, 'whole', body('too large'), { ...plain, bytesMax: 5 }), {
      code: 'invalid_argument',
    });
    const broken = Readable.from(
      (async function* () {
        yield Buffer.from('half');
        throw new Error('cut off');
      })(),
      { objectMode: false },
    );
    await assert.rejects(store.put(at, 'whole', broken, plain));
    assert.equal(await read('whole'), 'whole');
  });

  test('keys are listed in byte order, folded at the delimiter, a page at a time', async () => {
    const place = { namespace: 'shop', resource: 'list' };
    await Promise.all(
      ['a.txt', 'b/1', 'b/2', 'b/c/3', 'b0', 'd/4', 'd/5', 'z', 'é', 'Z'].map((key) =>
        store.put(place, key, body(key), plain),
      ),
    );
    const pages = async (options: { prefix?: string; delimiter?: string; limit: number }): Promise<string[]> => {
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const page = await store.list(place, { prefix: '', delimiter: '', ...options, cursor });
        found.push([...page.files.map(({ key }) => key), ...page.prefixes.map((prefix) => `(${prefix})`)].join(' '));
        ({ cursor } = page);
      } while (cursor !== null);
      return found;
    };
    assert.deepEqual(await pages({ limit: 100 }), ['Z a.txt b/1 b/2 b/c/3 b0 d/4 d/5 z é']);
    assert.deepEqual(await pages({ limit: 4 }), ['Z a.txt b/1 b/2', 'b/c/3 b0 d/4 d/5', 'z é']);
    assert.deepEqual(await pages({ delimiter: '/', limit: 100 }), ['Z a.txt b0 z é (b/) (d/)']);
    if (exact) assert.deepEqual(await pages({ delimiter: '/', limit: 3 }), ['Z a.txt (b/)', 'b0 z (d/)', 'é']);
    if (exact) assert.deepEqual(await pages({ prefix: 'b/', delimiter: '/', limit: 2 }), ['b/1 b/2', '(b/c/)']);
    assert.deepEqual(await pages({ prefix: 'nothing', limit: 2 }), ['']);
    await store.put(place, 'b/', body('the folder'), plain);
    if (exact)
      assert.deepEqual(await pages({ prefix: 'b/', delimiter: '/', limit: 1 }), ['b/', 'b/1', 'b/2', '(b/c/)']);
  });

  test('an upload in parts becomes one file, in the order of its parts', async () => {
    const upload = await store.createUpload(at, 'parts', {
      headers: { contentType: 'text/plain' },
      metadata: { a: 'b' },
    });
    const large = randomBytes(5 * 1024 * 1024);
    const second = await store.putPart(at, 'parts', upload, 2, body('end'), 1e9);
    await store.putPart(at, 'parts', upload, 1, body('replaced'), 1e9);
    const first = await store.putPart(at, 'parts', upload, 1, body(large), 1e9);
    assert.equal(await store.head(at, 'parts'), null);
    if (exact)
      await assert.rejects(store.completeUpload(at, 'parts', upload, [{ part: 1, etag: second.etag }]), {
        code: 'invalid_argument',
      });
    const head = await store.completeUpload(at, 'parts', upload, [
      { part: 1, ...first },
      { part: 2, ...second },
    ]);
    assert.deepEqual(
      [head.size, head.headers.contentType, head.metadata],
      [large.length + 3, 'text/plain', { a: 'b' }],
    );
    assert.match(head.etag, exact ? /^[0-9a-f]{32}-2$/ : /^[0-9a-f]{32}$/);
    assert.equal(
      await read('parts', { range: { offset: large.length - 1 }, onlyIf: null }),
      `${large.subarray(-1).toString()}end`,
    );
    if (exact)
      await assert.rejects(store.putPart(at, 'parts', upload, 3, body('late'), 1e9), { code: 'invalid_argument' });
  });

  test(
    'an upload that is completed twice at once is one file, whole',
    { skip: !exact && 'the server of this test forgets no upload' },
    async () => {
      await store.put(at, 'twice', body('before'), plain);
      const upload = await store.createUpload(at, 'twice', { headers: {}, metadata: {} });
      const part = { part: 1, ...(await store.putPart(at, 'twice', upload, 1, body('whole'), 1e9)) };
      const ends = await Promise.allSettled([1, 2, 3].map(() => store.completeUpload(at, 'twice', upload, [part])));
      assert.deepEqual(ends.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected', 'rejected']);
      assert.equal(await read('twice'), 'whole');
    },
  );

  const skip = !exact && 'the server of this test cannot give up an upload';
  test('an upload that was given up is gone', { skip }, async () => {
    const upload = await store.createUpload(at, 'given up', { headers: {}, metadata: {} });
    await store.putPart(at, 'given up', upload, 1, body('one'), 1e9);
    await store.abortUpload(at, 'given up', upload);
    await assert.rejects(store.putPart(at, 'given up', upload, 2, body('two'), 1e9), { code: 'invalid_argument' });
    await assert.rejects(store.completeUpload(at, 'given up', 'nosuchupload', [{ part: 1, etag: 'x' }]), {
      code: 'invalid_argument',
    });
    assert.equal(await store.head(at, 'given up'), null);
  });

  test('a namespace and a resource see nothing of another one, whatever the key', async () => {
    await store.put(at, 'mine', body('mine'), plain);
    const others = [
      { namespace: 'other', resource: 'pictures' },
      { namespace: 'shop', resource: 'other' },
    ];
    for (const other of others) {
      for (const key of ['mine', 'shop/pictures/mine', '__proto__'])
        assert.equal(await store.get(other, key, everything), null, key);
      await store.delete(other, ['mine']);
    }
    const upward = ['../pictures/mine', '../../shop/pictures/mine', '..', '.'];
    for (const key of upward) {
      if (dotSegments)
        assert.equal(await store.get({ namespace: 'shop', resource: 'other' }, key, everything), null, key);
      else await assert.rejects(store.get(at, key, everything), { code: 'invalid_argument' });
    }
    for (const key of [
      '__proto__',
      'a/',
      '%2e%2e',
      'a?b#c&d=e+f g',
      "!'()*",
      ...(dotSegments ? [...upward, '/', 'a//b'] : []),
    ]) {
      await store.put(at, key, body(`[${key}]`), plain);
      assert.equal(await read(key), `[${key}]`);
      assert.equal((await store.head(at, key))?.key, key);
    }
    assert.equal(await read('mine'), 'mine');
  });

  test('deleted files are gone, and deleting them again is no error', async () => {
    await store.put(at, 'gone', body('a'), plain);
    await store.delete(at, ['gone', 'never']);
    await store.delete(at, ['gone']);
    assert.equal(await store.get(at, 'gone', everything), null);
  });

  test('a resource that is cleared has no files, and others keep theirs', async () => {
    const cleared = { namespace: 'shop', resource: 'cleared' };
    const beside = { namespace: 'shop', resource: 'cleared2' };
    for (const place of [cleared, beside])
      for (const key of ['a', 'b/c']) await store.put(place, key, body(key), plain);
    await store.clear(cleared);
    await store.clear(cleared);
    const keys = async (resource: string): Promise<string[]> =>
      (
        await store.list({ namespace: 'shop', resource }, { prefix: '', delimiter: '', cursor: null, limit: 10 })
      ).files.map(({ key }) => key);
    assert.deepEqual([await keys('cleared'), await keys('cleared2')], [[], ['a', 'b/c']]);
    const resources = await store.resources('shop');
    assert.deepEqual([resources.includes('cleared'), resources.includes('cleared2')], [false, true]);
    assert.deepEqual(await store.resources('sho'), []);
  });

  test('an empty file is a file', async () => {
    await store.put(at, 'empty', body(''), plain);
    const found = await store.get(at, 'empty', everything);
    assert.deepEqual([await text(found?.body), found?.head.size], ['', 0]);
  });
}
