import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { LookupAddress } from 'node:dns';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { limitedLookup, guardedLookup, hostsOf } from '#core/outbound/host-names.ts';
import type { EgressPolicy } from '#core/egress.ts';
import { startDnsServer, type DnsAnswer, type DnsServer } from '#test/setup/dns-server.ts';

const nothing: EgressPolicy = { loopback: false, private: false };

async function server(t: TestContext, answer: (name: string, count: number) => DnsAnswer): Promise<DnsServer> {
  const dns = await startDnsServer(answer);
  t.after(() => dns.close());
  return dns;
}

/** Addresses of a name, or the code of the error. */
function look(lookup: ReturnType<typeof guardedLookup>, name: string, family = 0): Promise<string> {
  return new Promise((resolve) => {
    lookup(name, { all: true, family }, (error, addresses) =>
      resolve(
        error === null
          ? (addresses as unknown as LookupAddress[]).map(({ address }) => address).join()
          : String(error.code),
      ),
    );
  });
}

test('a name has the addresses of both families, IPv4 first', async (t) => {
  const dns = await server(t, () => ['2606:4700::1', '93.184.216.34']);
  const lookup = guardedLookup(nothing, { servers: [dns.address] });
  assert.equal(await look(lookup, 'example.test'), '93.184.216.34,2606:4700::1');
  assert.equal(await look(lookup, 'EXAMPLE.test.', 6), '2606:4700::1');
});

test('of a name with public and private addresses only the public ones are connected to', async (t) => {
  const dns = await server(t, () => ['10.0.0.1', '93.184.216.34', '::1', '169.254.169.254']);
  assert.equal(await look(guardedLookup(nothing, { servers: [dns.address] }), 'mixed.test'), '93.184.216.34');
});

test('a name that led outside and leads inside the next time is refused the next time', async (t) => {
  const dns = await server(t, (_name, count) => (count === 0 ? ['93.184.216.34'] : ['127.0.0.1']));
  const lookup = guardedLookup(nothing, { servers: [dns.address] });
  assert.equal(await look(lookup, 'rebind.test'), '93.184.216.34');
  assert.equal(await look(lookup, 'rebind.test'), 'egress_forbidden');
});

test('a name that nobody knows is not found', async (t) => {
  const dns = await server(t, () => 'unknown');
  assert.equal(await look(guardedLookup(nothing, { servers: [dns.address] }), 'missing.test'), 'ENOTFOUND');
});

test('names whose server is silent keep nobody from looking up another', async (t) => {
  const dns = await server(t, (name) => (name.startsWith('silent') ? 'silence' : ['93.184.216.34']));
  const lookup = guardedLookup(nothing, { servers: [dns.address] });
  let ended = 0;
  for (let at = 0; at < 50; at++) void look(lookup, `silent${at}.test`).finally(() => ended++);
  await dns.asking('silent49.test');
  assert.equal(await look(lookup, 'example.test'), '93.184.216.34');
  assert.equal(ended, 0);
});

test('the names of this machine come from its own table, and are judged as all others', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'hosts-'));
  t.after(() => rm(folder, { recursive: true }));
  const hostsFile = join(folder, 'hosts');
  await writeFile(hostsFile, '10.1.2.3 db.internal.test\n93.184.216.34\tmirror.test # a comment\n');
  const dns = await server(t, () => 'unknown');
  const lookup = guardedLookup(nothing, { servers: [dns.address], hostsFile });
  assert.equal(await look(lookup, 'mirror.test'), '93.184.216.34');
  assert.equal(await look(lookup, 'db.internal.test'), 'egress_forbidden');
  assert.equal(
    await look(guardedLookup({ loopback: false, private: true }, { servers: [], hostsFile }), 'db.internal.test'),
    '10.1.2.3',
  );
  assert.deepEqual(dns.asked, []);
});

test('localhost is forbidden unless the policy allows loopback', async () => {
  assert.equal(await look(guardedLookup(nothing), 'localhost'), 'egress_forbidden');
  assert.match(await look(guardedLookup({ loopback: true, private: false }), 'localhost', 4), /^127\.0\.0\.1/);
});

test('a table of names keeps all addresses of one, and leaves out what is none', () => {
  assert.deepEqual(
    [...hostsOf('127.0.0.1 localhost\n::1 localhost ip6-localhost\n# 1.2.3.4 no\nnonsense name\n\n')],
    [
      [
        'localhost',
        [
          { address: '127.0.0.1', family: 4 },
          { address: '::1', family: 6 },
        ],
      ],
      ['ip6-localhost', [{ address: '::1', family: 6 }]],
    ],
  );
});

test('those who want one name at once ask for it once', async (t) => {
  const dns = await server(t, () => ['93.184.216.34']);
  const lookup = guardedLookup(nothing, { servers: [dns.address] });
  assert.deepEqual(
    await Promise.all([1, 2, 3].map(() => look(lookup, 'example.test'))),
    Array(3).fill('93.184.216.34'),
  );
  assert.deepEqual(dns.asked.toSorted(), ['example.test A', 'example.test AAAA']);
  assert.equal(await look(lookup, 'example.test'), '93.184.216.34');
  assert.equal(dns.asked.length, 4);
});

test('one tenant looks up so many names at a time, and others go on', async (t) => {
  const dns = await server(t, (name) => (name.startsWith('silent') ? 'silence' : ['93.184.216.34']));
  const lookup = guardedLookup(nothing, { servers: [dns.address] });
  const [own, others] = [limitedLookup(lookup, 20), limitedLookup(lookup, 20)];
  for (let at = 0; at < 20; at++) void look(own, `silent${at}.test`);
  assert.equal(await look(own, 'example.test'), 'quota_exceeded');
  assert.equal(await look(others, 'example.test'), '93.184.216.34');
});

test('more names than may be looked up at a time are refused', async (t) => {
  const dns = await server(t, () => 'silence');
  const lookup = guardedLookup(nothing, { servers: [dns.address], namesMax: 100 });
  let ended = 0;
  for (let at = 0; at < 100; at++) void look(lookup, `silent${at}.test`).finally(() => ended++);
  assert.equal(await look(lookup, 'example.test'), 'EAI_AGAIN');
  assert.equal(ended, 0);
});
