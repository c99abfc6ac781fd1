// What a worker learns of its client, directly and behind a proxy that the handler trusts.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const worker = `export default { async fetch(request) {
  const derived = new Request(request, { headers: { 'x-a': 'b' } });
  const { headers } = request;
  return Response.json({
    forwarded: headers.get('x-forwarded-for'), real: headers.get('x-real-ip'), connecting: headers.get('cf-connecting-ip'), proto: headers.get('x-forwarded-proto'),
    cf: request.cf, clone: request.clone().cf, derived: derived.cf, own: new Request('http://a').cf === undefined, given: new Request('http://a', { cf: { a: 1 } }).cf, url: request.url,
  });
} };`;
const claims = {
  'x-forwarded-for': '6.6.6.6, 203.0.113.5',
  'x-real-ip': '6.6.6.6',
  'cf-connecting-ip': '6.6.6.6',
  'x-forwarded-proto': 'https',
};

let direct: TestHandler;
let proxied: TestHandler;
before(async () => {
  direct = await startHandler({ app: worker });
  proxied = await startHandler({ app: worker }, {}, { trustedProxies: ['127.0.0.0/8'] });
});
after(async () => {
  await direct.close();
  await proxied.close();
});

test('the address is that of the connection, whatever headers say', async () => {
  const { forwarded, real, connecting, proto } = (await direct.fetch('app', '/', { headers: claims })).json() as Record<
    string,
    unknown
  >;
  assert.deepEqual([forwarded, real, connecting, proto], ['127.0.0.1', '127.0.0.1', '127.0.0.1', null]);
});

test("behind a trusted proxy it is that of the proxy's client", async () => {
  const { forwarded, real, connecting, proto } = (
    await proxied.fetch('app', '/', { headers: claims })
  ).json() as Record<string, unknown>;
  assert.deepEqual([forwarded, real, connecting, proto], ['203.0.113.5', '203.0.113.5', '203.0.113.5', 'https']);
});

test('request.cf says what is known, and nothing that would be a guess', async () => {
  const { cf, clone, derived, own, given } = (
    await direct.fetch('app', '/', { headers: { 'accept-encoding': 'br' } })
  ).json() as Record<string, unknown>;
  assert.deepEqual(cf, { httpProtocol: 'HTTP/1.1', clientAcceptEncoding: 'br' });
  assert.deepEqual(clone, cf);
  assert.deepEqual(derived, { httpProtocol: 'HTTP/1.1' });
  assert.equal(own, true);
  assert.deepEqual(given, { a: 1 });
});
