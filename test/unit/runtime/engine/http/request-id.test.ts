import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTrust } from '#runtime/engine/http/client-address.ts';
import { createProxyRequestIds } from '#runtime/engine/http/request-id.ts';

const of = createProxyRequestIds(createTrust(['10.0.0.0/8']))!;
const request = (value: string, remoteAddress = '10.0.0.1'): { headerBlock: string; remoteAddress: string } => ({
  headerBlock: `host\0a\0x-request-id\0${value}\0`,
  remoteAddress,
});

test('a trusted proxy’s id is taken, anybody else’s is not', () => {
  assert.equal(of(request('7f3c-01')), '7f3c-01');
  assert.equal(of(request('7f3c-01', '192.0.2.1')), null);
  assert.equal(of(request('7f3c-01', 'no address')), null);
  assert.equal(of({ headerBlock: 'host\0a\0', remoteAddress: '10.0.0.1' }), null);
  assert.equal(createProxyRequestIds(null), null);
});

test('an id that cannot stand in a log or a header is none', () => {
  for (const value of ['', 'a b', 'a"b', 'a\r\nb', 'ä', 'x'.repeat(129)]) assert.equal(of(request(value)), null, value);
  assert.equal(of(request('x'.repeat(128)))?.length, 128);
  assert.equal(of(request('Root=1-67891233-abcdef012345678912345678'))?.length, 40);
});
