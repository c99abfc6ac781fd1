// Addresses of clients, from the bytes that uWebSockets.js gives.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientAddresses } from '#runtime/server/uws-address.ts';

const client = (bytes: readonly number[], text = '') => ({
  getRemoteAddress: () => new Uint8Array(bytes).buffer,
  getRemoteAddressAsText: () => new Uint8Array(Buffer.from(text)).buffer,
});
const mapped = (...bytes: readonly number[]): number[] => [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ...bytes];

test('IPv4 is written with dots, mapped by a dual-stack socket or not', () => {
  const addresses = new ClientAddresses();
  assert.equal(addresses.of(client([192, 0, 2, 1])), '192.0.2.1');
  assert.equal(addresses.of(client(mapped(192, 0, 2, 1))), '192.0.2.1');
  assert.equal(addresses.of(client(mapped(255, 255, 255, 255))), '255.255.255.255');
});

test('IPv6 is as the library writes it, also where it looks like a mapped address', () => {
  const addresses = new ClientAddresses();
  const text = '0000:0000:0000:0001:0000:ffff:c000:0201';
  assert.equal(addresses.of(client([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0xff, 0xff, 192, 0, 2, 1], text)), text);
});

test('more clients than are remembered all have their own', () => {
  const addresses = new ClientAddresses();
  for (let n = 0; n < 3000; n++) assert.equal(addresses.of(client([10, 0, n >> 8, n & 255])), `10.0.${n >> 8}.${n & 255}`);
});
