// What is stored of a request: harmless headers and queries as they are, no secret, and bounded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storedHeaders, storedQuery } from '#runtime/engine/telemetry/request-details.ts';

const blockOf = (headers: readonly (readonly [string, string])[]): string =>
  headers.map(([name, value]) => `${name}\0${value}\0`).join('');

test('a query is stored, without values that may be secret', () => {
  for (const [target, stored] of [
    ['/search', ''],
    ['/search?', ''],
    ['/search?q=green+tea&page=2&author=kim&keyword=pot', 'q=green+tea&page=2&author=kim&keyword=pot'],
    ['/?token=abc&id=7', 'token=***&id=7'],
    [
      '/?access_token=a&apiKey=b&api_key=c&code=d&Password=e',
      'access_token=***&apiKey=***&api_key=***&code=***&Password=***',
    ],
    ['/?x-platform-protection-bypass=a&X-Amz-Signature=b', 'x-platform-protection-bypass=***&X-Amz-Signature=***'],
    ['/?next=eyJhbGciOiJIUzI1NiJ9.e30.abc', 'next=***'],
    ['/?4f3c2b1a9d8e7f6a5b4c3d2e1f0a9b8c', '***'],
    ['/?slug=a-very-long-title-without-a-number', 'slug=a-very-long-title-without-a-number'],
  ] as const)
    assert.equal(storedQuery(target), stored, target);
  assert.equal(storedQuery(`/?q=${'x'.repeat(5000)}`).length, 1024);
});

test('listed headers are stored, of secret ones the name, of others nothing', () => {
  const block = blockOf([
    ['host', 'shop.example'],
    ['authorization', 'Bearer hush'],
    ['cookie', 'session=hush'],
    ['x-api-key', 'hush'],
    ['accept', 'text/html'],
    ['accept', 'image/png'],
    ['referer', 'https://shop.example/reset?token=hush#hush'],
  ]);
  assert.deepEqual(storedHeaders(block), [
    ['host', 'shop.example'],
    ['authorization', null],
    ['cookie', null],
    ['accept', 'text/html'],
    ['referer', 'https://shop.example/reset'],
  ]);
});

test('headers are cut at 256 characters each, at 1024 together and after 64 headers', () => {
  const long = 'x'.repeat(1000);
  const names = ['accept', 'origin', 'host', 'content-type', 'user-agent', 'range'];
  const stored = storedHeaders(blockOf(names.map((name) => [name, long])));
  assert.deepEqual(
    stored.map(([name, value]) => [name, value?.length]),
    [
      ['accept', 256],
      ['origin', 256],
      ['host', 256],
      ['content-type', 256],
    ],
  );
  const many = Array.from({ length: 64 }, (_, at) => [`x-${at}`, 'a'] as const);
  assert.deepEqual(storedHeaders(blockOf([...many, ['accept', '*/*']])), []);
  assert.deepEqual(storedHeaders('accept\0'), []);
});
