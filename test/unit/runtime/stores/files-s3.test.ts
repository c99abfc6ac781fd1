// runtime/stores/files-s3.ts against storages that answer what none should.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { PlatformError } from '#core/errors.ts';
import { openFilesS3 } from '#runtime/stores/files-s3.ts';

const PLACE = { namespace: 'org', resource: 'files' };
const LIST = { prefix: '', delimiter: '', cursor: null, limit: 1000 };

async function storeThatAnswers(t: TestContext, answer: (response: ServerResponse, target: string) => void) {
  const server: Server = createServer((request, response) => {
    request.resume().on('end', () => answer(response, request.url ?? ''));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const store = openFilesS3({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bucket: 'b',
    region: 'r',
    accessKeyId: 'k',
    secretAccessKey: 's',
    prefix: '',
    uploadBytesHeldMax: 1024 * 1024,
  });
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await store.close();
  });
  return store;
}

function isUnavailable(reason: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof PlatformError, String(error));
    assert.equal(error.code, 'binding_unavailable');
    assert.match(error.message, reason);
    return true;
  };
}

test('a list is read, however it is laid out', async (t) => {
  const store = await storeThatAnswers(t, (response) => {
    response.end(`  <?xml version="1.0" encoding="UTF-8"?>
      <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
        <Contents><Size>7</Size><Key>org/files/a+b%2Fc%26</Key><ETag>&quot;e1&quot;</ETag>
          <LastModified>2026-11-21T10:00:00.000Z</LastModified><Owner><ID>x</ID></Owner></Contents>
        <CommonPrefixes><Prefix>org/files/d%2F</Prefix></CommonPrefixes><IsTruncated>true</IsTruncated>
      </ListBucketResult>`);
  });
  const { files, prefixes, cursor } = await store.list(PLACE, { ...LIST, delimiter: '/' });
  assert.deepEqual(
    files.map(({ key, size, etag, uploadedAt }) => [key, size, etag, uploadedAt]),
    [['a b/c&', 7, 'e1', 1_795_255_200_000]],
  );
  assert.deepEqual([prefixes, cursor], [['d/'], 'd/\u{10ffff}']);
});

const lists: Record<string, [string, RegExp]> = {
  'no XML': ['<html><br>', /document cannot be read/],
  'a document that ends early': ['<ListBucketResult><Contents><Key>org/files/a', /document cannot be read/],
  'entries without ends': ['<Contents>'.repeat(300_000), /document cannot be read/],
  'entities of its own': [
    '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
    /document cannot be read/,
  ],
  'a document of 17 MB': [`<a>${'x'.repeat(17 * 1024 * 1024)}</a>`, /more than 16777216 bytes/],
  'a key that is not encoded': ['<a><Contents><Key>org/files/%zz</Key></Contents></a>', /not encoded/],
  'a list that has no end': [
    '<a><IsTruncated>true</IsTruncated></a>',
    /does not continue where the previous page ended/,
  ],
};
for (const [name, [document, reason]] of Object.entries(lists)) {
  test(`${name}: the storage fails, and nothing else`, async (t) => {
    const store = await storeThatAnswers(t, (response) => response.end(document));
    await assert.rejects(store.list(PLACE, LIST), isUnavailable(reason));
  });
}

test('each file of a bucket counts with its key and what it takes besides', async (t) => {
  const store = await storeThatAnswers(t, (response) => {
    response.end(`<a><Contents><Key>org/files/a</Key><Size>7</Size></Contents>
      <Contents><Key>org/files/${'%C3%A9'.repeat(50)}</Key><Size>0</Size></Contents></a>`);
  });
  assert.deepEqual([...(await store.kept())], [['org', 7 + 1000 + 1 + 1000 + 100]]);
});

test('a list that comes back to where it was ends the removal of a branch', async (t) => {
  const store = await storeThatAnswers(t, (response, target) => {
    if (!target.includes('list-type')) response.end();
    else response.end('<a><Contents><Key>org/files/a</Key></Contents><IsTruncated>true</IsTruncated></a>');
  });
  await assert.rejects(store.clear(PLACE), isUnavailable(/does not go on/));
});

test('an error says whose fault it is, whatever else its document holds', async (t) => {
  let document = '';
  const store = await storeThatAnswers(t, (response) => response.writeHead(404).end(document));
  const complete = () => store.completeUpload(PLACE, 'a', 'aWQ', []);
  document =
    '<?xml version="1.0"?><Error><Code>NoSuchUpload</Code><Message>It &lt;is&gt; gone</Message><Key>&#x1;</Key></Error>';
  await assert.rejects(complete, { code: 'invalid_argument', message: /It <is> gone/ });
  document = '<html><p>No <b>such page</html>';
  await assert.rejects(complete, isUnavailable(/the storage answers 404/));
});

test('an error after a status of success is an error', async (t) => {
  const store = await storeThatAnswers(t, (response) => {
    response.end(
      '<?xml version="1.0"?>\n   <Error><Code>InvalidPart</Code><Message>a part is missing</Message></Error>',
    );
  });
  await assert.rejects(store.completeUpload(PLACE, 'a', 'aWQ', []), {
    code: 'invalid_argument',
    message: /a part is missing/,
  });
});

test('an answer that breaks off is the storage failing', async (t) => {
  const store = await storeThatAnswers(t, (response) => {
    response.writeHead(200, { 'content-length': '100' }).write('<a>');
    setImmediate(() => response.destroy());
  });
  await assert.rejects(store.list(PLACE, LIST), isUnavailable(/the storage fails/));
});
