// runtime/engine/http/client-address.ts: whose request it is, with and without proxies, and what clients cannot claim.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClientHeaders, proxyProblem } from '#runtime/engine/http/client-address.ts';

const block = (headers: readonly (readonly [string, string])[]): string =>
  headers.map(([name, value]) => `${name}\0${value}\0`).join('');
const of = (address: string): [string, string][] => [
  ['x-forwarded-for', address],
  ['x-real-ip', address],
  ['cf-connecting-ip', address],
];

test('without trusted proxies the peer is the client, whatever it claims', () => {
  const headers = createClientHeaders([]);
  const own: [string, string][] = [
    ['host', 'a.test'],
    ['x-forwarded-forest', 'stays'],
    ['accept', '*/*; forwarded; -ip'],
  ];
  const claims = [
    'x-forwarded-for',
    'x-real-ip',
    'cf-connecting-ip',
    'true-client-ip',
    'forwarded',
    'x-forwarded-proto',
    'x-forwarded-host',
    'x-client-ip',
  ];
  const claimed = claims.map((name): [string, string] => [name, '192.0.2.9']);
  for (let round = 0; round < 2; round++) {
    assert.equal(
      headers(block([...claimed, ...own, ...claimed]), '198.51.100.7'),
      block([...own, ...of('198.51.100.7')]),
    );
    assert.equal(headers(block([['host', 'a']]), '2001:db8::1'), block([['host', 'a'], ...of('2001:db8::1')]));
  }
});

test('a trusted proxy is believed, and others through it as far as they are trusted too', () => {
  const headers = createClientHeaders(['10.0.0.0/8', '192.0.2.1', 'fd00::/8', '::1']);
  for (const [peer, forwarded, client] of [
    ['10.1.2.3', '203.0.113.5', '203.0.113.5'],
    ['192.0.2.1', '203.0.113.5', '203.0.113.5'],
    ['::1', '203.0.113.5', '203.0.113.5'],
    ['0000:0000:0000:0000:0000:0000:0000:0001', '203.0.113.5', '203.0.113.5'],
    ['fd12::1', '2001:db8::5', '2001:db8::5'],
    ['10.1.2.3', '6.6.6.6, 203.0.113.5', '203.0.113.5'],
    ['10.1.2.3', '6.6.6.6, 203.0.113.5, 10.9.9.9 ,192.0.2.1', '203.0.113.5'],
    ['10.1.2.3', '10.4.4.4, 10.5.5.5', '10.4.4.4'],
    ['10.1.2.3', '203.0.113.5:4711', '203.0.113.5'],
    ['10.1.2.3', '[2001:db8::5]:4711', '2001:db8::5'],
    ['10.1.2.3', '::ffff:203.0.113.5', '203.0.113.5'],
    ['10.1.2.3', '203.0.113.5, nonsense', '10.1.2.3'],
    ['10.1.2.3', '203.0.113.5, unknown, 10.2.2.2', '10.2.2.2'],
    ['10.1.2.3', '', '10.1.2.3'],
    ['192.0.2.2', '203.0.113.5', '192.0.2.2'],
    ['11.0.0.1', '203.0.113.5', '11.0.0.1'],
    ['', '203.0.113.5', ''],
  ] as const) {
    assert.equal(
      headers(
        block([
          ['a', 'b'],
          ['x-forwarded-for', forwarded],
        ]),
        peer,
      ),
      block([['a', 'b'], ...of(client)]),
      `${peer} <- ${forwarded}`,
    );
  }
});

test('several headers are one list, x-real-ip counts where there is none, and the scheme is handed on', () => {
  const headers = createClientHeaders(['10.0.0.1']);
  assert.equal(
    headers(
      block([
        ['x-forwarded-for', '6.6.6.6'],
        ['x-forwarded-proto', 'https'],
        ['x-forwarded-for', '203.0.113.5'],
        ['forwarded', 'for=6.6.6.6'],
      ]),
      '10.0.0.1',
    ),
    block([['x-forwarded-proto', 'https'], ...of('203.0.113.5')]),
  );
  assert.equal(headers(block([['x-real-ip', '203.0.113.5']]), '10.0.0.1'), block(of('203.0.113.5')));
  assert.equal(headers(block([['x-real-ip', 'evil\tvalue']]), '10.0.0.1'), block(of('10.0.0.1')));
});

test('an entry that is no address and no range is named', () => {
  for (const entry of ['10.0.0.0/8', '192.0.2.1', '::/0', '2001:db8::/32', '0.0.0.0/0'])
    assert.equal(proxyProblem(entry), null, entry);
  assert.equal(proxyProblem('caddy'), '"caddy" is neither an address nor a CIDR range');
  assert.equal(proxyProblem('10.0.0.0/33'), '"10.0.0.0/33" has a prefix that is not 0 to 32');
  assert.equal(proxyProblem('::/129'), '"::/129" has a prefix that is not 0 to 128');
  assert.equal(proxyProblem('10.0.0.0/8/8'), '"10.0.0.0/8/8" is neither an address nor a CIDR range');
  assert.equal(proxyProblem('fe80::1%eth0'), '"fe80::1%eth0" is neither an address nor a CIDR range');
});

test('who has the token of the edge is believed, and nobody else; no worker sees it', () => {
  const token = 'abcdefabcdefabcdef0123456789abcdef0123456789';
  const headers = createClientHeaders([], token);
  const claim = 'x-forwarded-for\0' + '203.0.113.7\0x-forwarded-proto\0https\0';
  const of = (address: string): string =>
    `x-forwarded-for\0${address}\0x-real-ip\0${address}\0cf-connecting-ip\0${address}\0`;
  assert.equal(
    headers(`${claim}x-platform-edge\0${token}\0`, '127.0.0.1'),
    `x-forwarded-proto\0https\0${of('203.0.113.7')}`,
  );
  for (const [with_, value] of [
    [headers, `${token}x`],
    [headers, ''],
    [createClientHeaders([]), token],
    [createClientHeaders([]), ''],
  ] as const)
    assert.equal(with_(`${claim}x-platform-edge\0${value}\0`, '127.0.0.1'), of('127.0.0.1'));
});
