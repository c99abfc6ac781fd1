// Addresses of clients, from the bytes that uWebSockets.js gives.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientAddresses } from '#runtime/engine/http/uws-address.ts';

const client = (bytes: readonly number[], { text = '', port = 1 } = {}) => ({
  reads: 0,
  getRemoteAddress() {
    this.reads++;
    return new Uint8Array(bytes).buffer;
  },
  getRemoteAddressAsText: () => new Uint8Array(Buffer.from(text)).buffer,
  getRemotePort: () => port,
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
  assert.equal(addresses.of(client([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0xff, 0xff, 192, 0, 2, 1], { text })), text);
});

test('an address is read once for a connection', () => {
  const addresses = new ClientAddresses();
  const clients = [
    client([192, 0, 2, 1], { port: 5 }),
    client([192, 0, 2, 1], { port: 6 }),
    client([192, 0, 2, 2], { port: 7 }),
  ];
  for (const one of clients) {
    addresses.opened(one);
    for (let times = 0; times < 3; times++) addresses.of(one);
  }
  assert.deepEqual(
    clients.map(({ reads }) => reads),
    [1, 1, 1],
  );
});

test('a client that is gone when it is looked at changes nothing', () => {
  const addresses = new ClientAddresses();
  const stays = client([192, 0, 2, 1], { port: 5 });
  addresses.opened(stays);
  addresses.opened(client([], { port: 4_294_967_295 }));
  assert.equal(addresses.of(stays), '192.0.2.1');
  assert.equal(stays.reads, 1);
});

test('each of many clients that come and go, some from the same port, has its own', () => {
  const addresses = new ClientAddresses();
  const open: ReturnType<typeof client>[] = [];
  const expected: string[] = [];
  for (let n = 0; n < 3000; n++) {
    const at = (n * 7919) % 50;
    const bytes = [10, 0, (n >> 4) & 3, (n * 31) & 3];
    open[at] = client(bytes, { port: (n * 13) % 40 });
    expected[at] = bytes.join('.');
    addresses.opened(open[at]);
    const asked = (n * 17) % open.length;
    if (open[asked] !== undefined) assert.equal(addresses.of(open[asked]), expected[asked]);
  }
});
