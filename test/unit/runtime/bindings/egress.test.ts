import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayConnect } from '#runtime/bindings/egress.ts';

const strict = { loopback: false, private: false };

test('public addresses are open', () => {
  for (const address of ['1.1.1.1', '8.8.8.8', '93.184.216.34', '172.32.0.1', '192.169.0.1', '2606:4700::1111', '[2a00:1450:4001::1]']) {
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
  for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) assert.equal(mayConnect(address, policy), true, address);
  for (const address of ['10.0.0.1', '169.254.169.254', 'fe80::1']) assert.equal(mayConnect(address, policy), false, address);
});

test('private networks can be allowed without loopback', () => {
  const policy = { loopback: false, private: true };
  assert.equal(mayConnect('10.0.0.1', policy), true);
  assert.equal(mayConnect('127.0.0.1', policy), false);
});
