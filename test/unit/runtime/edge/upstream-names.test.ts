// The name server that tells Caddy where handlers are: asked by Node's resolver, and by bytes that are no question.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { after, before, test } from 'node:test';
import { openUpstreamNames, UPSTREAMS_MAX, type UpstreamNames } from '#runtime/edge/upstream-names.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

let names: UpstreamNames;
const resolver = new Resolver({ timeout: 2000, tries: 1 });
before(async () => {
  names = await openUpstreamNames();
  resolver.setServers([names.address]);
});
after(() => names.close());

const srv = async () => (await resolver.resolveSrv('handlers.edge')).toSorted((a, b) => a.priority - b.priority);

test('handlers have a name each, with its address and port', async () => {
  names.set(['10.0.0.1:4001', '[fd00::7:1]:4002', 'localhost:4003']);
  const records = await srv();
  assert.deepEqual(records.map(({ port }) => port).toSorted(), [4001, 4002, 4003]);
  const nameOf = (port: number): string => records.find((record) => record.port === port)!.name;
  assert.deepEqual(await resolver.resolve4(nameOf(4001)), ['10.0.0.1']);
  assert.deepEqual(await resolver.resolve6(nameOf(4002)), ['fd00::7:1']);
  assert.deepEqual(await resolver.resolve4(nameOf(4003)), ['127.0.0.1']);
  await assert.rejects(resolver.resolve6(nameOf(4001)), { code: 'ENODATA' });
  await assert.rejects(resolver.resolve4('nobody'), { code: 'ENOTFOUND' });
});

test('the name of a handler and the order of the others stay when one goes', async () => {
  const upstreams = Array.from({ length: 9 }, (_, index) => `10.0.0.${index}:4001`);
  const order = async (): Promise<string[]> => (await srv()).map(({ name }) => name);
  names.set(upstreams);
  const all = await order();
  names.set(upstreams.toReversed());
  assert.deepEqual(await order(), all);
  names.set(upstreams.slice(1));
  const less = await order();
  assert.equal(less.length, 8);
  assert.deepEqual(
    less,
    all.filter((name) => less.includes(name)),
  );
});

test('as many as are allowed fit into a datagram of 1232 bytes, and none is an error', async () => {
  names.set(Array.from({ length: UPSTREAMS_MAX + 5 }, (_, index) => `10.0.1.${index}:4001`));
  assert.equal((await srv()).length, UPSTREAMS_MAX);
  const socket = createSocket('udp4');
  const question = Buffer.from('123401000001000000000000', 'hex');
  const ask = Buffer.concat([question, Buffer.from('\x08handlers\x04edge\0', 'latin1'), Buffer.from([0, 33, 0, 1])]);
  const answer = new Promise<Buffer>((resolve) => socket.once('message', resolve));
  socket.send(ask, Number(names.address.split(':')[1]), '127.0.0.1');
  assert.ok((await answer).length <= 1232);
  socket.close();
  names.set([]);
  await assert.rejects(srv(), { code: 'ENODATA' });
});

test('bytes that are no question are ignored', async () => {
  names.set(['10.0.0.1:4001']);
  const random = createSeededRandom();
  const socket = createSocket('udp4');
  const port = Number(names.address.split(':')[1]);
  for (let round = 1; round <= 500; round++) {
    const bytes = Buffer.from(Array.from({ length: random.below(80) }, () => random.below(256)));
    if (bytes.length > 6 && round % 2 === 0) bytes.writeUInt16BE(1, 4);
    await new Promise((resolve) => socket.send(bytes, port, '127.0.0.1', resolve));
    // The system keeps only so many datagrams.
    if (round % 50 === 0) assert.equal((await srv()).length, 1, `seed ${random.seed}`);
  }
  socket.close();
});
