// Which cookies of a worker reach its client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOwnCookie, namesDomain, ownCookies } from '#runtime/engine/http/cookie-domains.ts';

const platform = ['localhost', 'apps.example.org'];

test('a cookie without a domain, or for the very host that was asked, is its own', () => {
  for (const [cookie, host] of [
    ['a=1', 'shop.localhost'],
    ['a=1; Path=/; HttpOnly', 'shop.localhost'],
    ['domain=localhost', 'shop.localhost'],
    ['a=domain=localhost; Path=/domain=localhost', 'shop.localhost'],
    ['a=1; Domain=shop.localhost', 'shop.localhost:4001'],
    ['a=1; Domain=.SHOP.localhost', 'shop.localhost'],
    ['a=1; Domain=shop.localhost.', 'shop.localhost.'],
    ['a=1; Domain', 'shop.localhost'],
    ['a=1; Domain=; Path=/', 'shop.localhost'],
    ['a=1; mydomain=localhost', 'shop.localhost'],
    ['a=1; Domain=shop.example.com', 'shop.example.com'],
    ['a=1; Domain=127.0.0.1', '127.0.0.1:3000'],
    ['a=1; Domain=[::1]', '[::1]:3000'],
    ['a=1; Domain=shop.com', 'www.shop.com'],
    ['a=1; Domain=.shop.com', 'a.b.shop.com:443'],
  ] as const)
    assert.equal(isOwnCookie(cookie, host, platform), true, cookie);
});

test('a cookie for any other host is not, however it is written', () => {
  for (const [cookie, host] of [
    ['a=1; Domain=localhost', 'shop.localhost'],
    ['a=1;domain=localhost', 'shop.localhost'],
    ['a=1 ;\tDOMAIN \t=\t .LocalHost ', 'shop.localhost'],
    ['a=1; Domain=localhost; Domain=shop.localhost', 'shop.localhost'],
    ['a=1; Domain=shop.localhost; Domain=localhost', 'shop.localhost'],
    ['a=1; Domain=localhost.', 'shop.localhost.'],
    ['a=1; Domain=..shop.localhost', 'shop.localhost'],
    ['a=1; Domain=.', 'shop.localhost'],
    ['a=1; Domain="localhost"', 'shop.localhost'],
    ['a="1; Domain=localhost"', 'shop.localhost'],
    ['a=1, b=2; Domain=localhost', 'shop.localhost'],
    ['a=1; Domain=shop.localhost, b=2; Domain=localhost', 'shop.localhost'],
    ['a=1; Domain=localhost:4001', 'shop.localhost:4001'],
    ['a=1; Domain=%6cocalhost', 'shop.localhost'],
    ['; Domain=localhost', 'shop.localhost'],
    ['a=1; Domain=other.localhost', 'shop.localhost'],
    ['a=1; Domain=sub.shop.localhost', 'shop.localhost'],
    ['a=1; Domain=example.com', 'example.org'],
    ['a=1; Domain=ample.com', 'example.com'],
    ['a=1; Domain=org', 'shop.example.org'],
    ['a=1; Domain=example.org', 'shop.example.org'],
    ['a=1; Domain=shop.apps.example.org', 'www.shop.apps.example.org'],
    ['a=1; Domain=0.0.1', '127.0.0.1'],
    ['a=1; Domain=shop.localhost', ''],
    // A project whose own host is one of the platform's domains, or above one.
    ['a=1; Domain=apps.example.org', 'apps.example.org'],
    ['a=1; Domain=example.org', 'example.org'],
    ['a=1; Domain=localhost', 'localhost'],
  ] as const) {
    assert.equal(namesDomain(cookie), true, cookie);
    assert.equal(isOwnCookie(cookie, host, platform), false, cookie);
  }
});

test('a block keeps its other headers in order, and what is left out is named and no more than that', () => {
  const block = `a\x001\0set-cookie\0${'n'.repeat(100)}=secret; Domain=localhost\0set-cookie\0b=2\0z\x009\0`;
  assert.deepEqual(ownCookies(block, 'shop.localhost', platform), {
    block: 'a\x001\0set-cookie\0b=2\0z\x009\0',
    refused: `"${'n'.repeat(64)}"`,
  });
});
