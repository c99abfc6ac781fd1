import assert from 'node:assert/strict';
import type { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { createOwnAddresses, mayConnect } from '#core/egress.ts';

const strict = { loopback: false, private: false };

test('public addresses are open', () => {
  for (const address of [
    '1.1.1.1',
    '8.8.8.8',
    '93.184.216.34',
    '172.32.0.1',
    '192.169.0.1',
    '2606:4700::1111',
    '[2a00:1450:4001::1]',
  ]) {
    assert.equal(mayConnect(address, strict), true, address);
  }
});

test('special addresses are closed in every spelling', () => {
  for (const address of [
    '127.0.0.1',
    '127.255.255.254',
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '[::1]',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:a9fe:a9fe',
    '::ffff:10.0.0.1',
    '64:ff9b::7f00:1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'ff02::1',
    '2002:7f00:1::',
    '2001:db8::1',
    // Of each other range of the registries, the first address and the last, and IPv4 inside IPv6.
    '0.255.255.255',
    '10.255.255.255',
    '100.127.255.255',
    '169.254.0.0',
    '192.0.0.255',
    '192.0.2.255',
    '192.31.196.0',
    '192.52.193.255',
    '192.88.99.1',
    '192.168.255.255',
    '192.175.48.0',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '239.255.255.255',
    '240.0.0.0',
    '::ffff:8.8.8.8',
    '::ffff:808:808',
    '0::0:ffff:8.8.8.8',
    '::ffff:0:0',
    '::ffff:0:8.8.8.8',
    '::8.8.8.8',
    '64:ff9b::8.8.8.8',
    '64:ff9b:1::1',
    '64:ff9b:1:ffff:ffff:ffff:ffff:ffff',
    '100::1',
    '100:0:0:1::1',
    '2001::1',
    '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff',
    '2002:808:808::1',
    '2002:ffff:ffff::1',
    '2620:4f:8000::1',
    '3fff:fff::1',
    '5f00::1',
    'fdff::1',
    'febf::1',
    'fec0::1',
    'feff::1',
    'ffff::1',
    '1fff::1',
    '4000::1',
    'fe80::1%1',
    '2606:4700::1111%1',
  ]) {
    assert.equal(mayConnect(address, strict), false, address);
  }
});

test('what is no address is closed', () => {
  for (const address of ['', 'localhost', '1.2.3', '1.2.3.4.5', '::g', '0x7f.1'])
    assert.equal(mayConnect(address, { loopback: true, private: true }), false, address);
});

test('loopback can be allowed without the rest', () => {
  const policy = { loopback: true, private: false };
  for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1'])
    assert.equal(mayConnect(address, policy), true, address);
  for (const address of ['10.0.0.1', '169.254.169.254', 'fe80::1'])
    assert.equal(mayConnect(address, policy), false, address);
});

test('private networks can be allowed without loopback', () => {
  const policy = { loopback: false, private: true };
  assert.equal(mayConnect('10.0.0.1', policy), true);
  assert.equal(mayConnect('127.0.0.1', policy), false);
});

test('no spelling of the machine itself passes where private networks are allowed', () => {
  const policy = { loopback: false, private: true };
  for (const address of [
    '0.0.0.0',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::0:ffff:7f00:1',
    '0:0::ffff:127.1.2.3',
    '::ffff:0.0.0.0',
    '::1%1',
  ])
    assert.equal(mayConnect(address, policy), false, address);
});

test("the machine's own public addresses are closed, as they are after a while, and open with loopback", () => {
  let now = 0;
  let address = '198.105.232.4';
  const isOwn = createOwnAddresses(
    () =>
      ({
        eth0: [
          { address, family: 'IPv4' },
          { address: '2a00:1450:4001::7', family: 'IPv6' },
          { address: 'fe80::7%eth0', family: 'IPv6' },
        ],
      }) as unknown as ReturnType<typeof networkInterfaces>,
    () => now,
  );
  const may = (to: string): boolean => mayConnect(to, { loopback: false, private: false, isOwn });
  assert.deepEqual(
    ['198.105.232.4', '198.105.232.5', '2a00:1450:4001::7', '2a00:1450:4001:0::7', '2a00:1450:4001::8'].map(may),
    [false, true, false, false, true],
  );
  address = '198.105.232.5';
  assert.equal(may('198.105.232.5'), true);
  now = 5000;
  assert.deepEqual(['198.105.232.4', '198.105.232.5'].map(may), [true, false]);
  assert.equal(mayConnect('198.105.232.5', { loopback: true, private: false, isOwn }), true);
  assert.equal(mayConnect('198.105.232.5', { loopback: false, private: true, isOwn }), false);
});
