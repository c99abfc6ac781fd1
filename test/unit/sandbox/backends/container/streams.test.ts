// The host's end of the channel to a sandbox, whose other end is a stranger's: frames by hand, over a wire of this
// process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { openStreams } from '#sandbox/backends/container/inside/streams.ts';

const [OPEN, DATA, END, RESET, WELCOME] = [1, 2, 3, 4, 8];
const GREETING_BYTES = 16;

function frame(kind: number, id: number, payload: string | Buffer = ''): Buffer {
  const bytes = Buffer.from(payload as string);
  const head = Buffer.alloc(9);
  head.writeUInt8(kind, 0);
  head.writeUInt32BE(id, 1);
  head.writeUInt32BE(bytes.length, 5);
  return Buffer.concat([head, bytes]);
}

/** The host's end, greeted back. `say`: what the sandbox writes; while it reads nothing, writes to it stay. */
function openHost(onOpen: (topic: string, stream: Duplex) => void) {
  const written: Buffer[] = [];
  const state = { readsNothing: false, lost: null as string | null };
  const channel = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk);
      if (!state.readsNothing) done();
    },
  });
  const streams = openStreams({
    channel,
    greets: true,
    onOpen,
    onLost: (error) => (state.lost = error.message),
  });
  channel.push(frame(WELCOME, 0, Buffer.concat(written).subarray(-GREETING_BYTES)));
  const say = async (...frames: Buffer[]): Promise<void> => {
    channel.push(Buffer.concat(frames));
    await new Promise(setImmediate);
  };
  return { streams, channel, state, written, say };
}

test('streams pass bytes both ways, also to slow readers, and end', async () => {
  const [near, far] = wirePair();
  const topics: string[] = [];
  openStreams({
    channel: far,
    greets: false,
    onOpen(topic, stream) {
      topics.push(topic);
      stream.pipe(stream);
    },
    onLost() {},
  });
  const greeted = Promise.withResolvers<void>();
  const streams = openStreams({
    channel: near,
    greets: true,
    onOpen() {},
    onGreeted: () => greeted.resolve(),
    onLost() {},
  });
  await greeted.promise;
  const sent = Buffer.alloc(3_000_000, 'What passes over a channel ');
  const [one, other] = [streams.open('one'), streams.open('other')];
  one.end(sent);
  for (let at = 0; at < 5000; at++) other.write('x');
  other.end();
  const [back, small] = await Promise.all([buffer(one), buffer(other)]);
  assert.ok(back.equals(sent));
  assert.equal(small.toString(), 'x'.repeat(5000));
  assert.deepEqual(topics, ['one', 'other']);
});

test('a sandbox that sends frames and reads no answers loses its channel', async () => {
  const host = openHost(() => {});
  await host.say();
  host.state.readsNothing = true;
  await host.say(Buffer.concat(Array<Buffer>(400_000).fill(frame(END, 77))));
  for (let turn = 0; turn < 10_000 && host.state.lost === null; turn++) await host.say();
  assert.equal(host.state.lost, "The other side of a sandbox's channel sent frames, and reads no answers");
});

test('a sandbox that reads nothing loses its channel, however often it is asked', async () => {
  const host = openHost(() => {});
  await host.say();
  host.state.readsNothing = true;
  assert.throws(
    () => {
      for (let at = 0; at < 100_000; at++) host.streams.open('agent').destroy();
    },
    { code: 'ECONNRESET' },
  );
  assert.equal(host.state.lost, "The other side of a sandbox's channel does not read");
});

test('of a flood of frames, each turn takes a few', async () => {
  let opened = 0;
  const host = openHost(() => opened++);
  const flood = Array.from({ length: 1000 }, () => [frame(OPEN, 2, 'topic'), frame(RESET, 2)]).flat();
  await host.say(...flood);
  assert.ok(opened <= 64);
  for (let turn = 0; turn < 40; turn++) await host.say();
  assert.equal(opened, 1000);
});

test('what waits to be sent is forgotten with its stream, where the sandbox takes nothing', async () => {
  const ended: (string | undefined)[] = [];
  const host = openHost((_topic, stream) => {
    stream.write(Buffer.alloc(16_000), (error) => ended.push((error as NodeJS.ErrnoException | null)?.code));
  });
  for (let id = 2; id <= 40; id += 2) await host.say(frame(OPEN, id, 'topic'));
  assert.deepEqual(ended, [undefined, undefined, undefined, undefined]);
  for (let id = 2; id <= 40; id += 2) await host.say(frame(RESET, id));
  assert.equal(ended.filter((code) => code === 'ECONNRESET').length, 16);
});

test('bytes that nobody reads are kept in few pieces, and nothing of what came beside them', async () => {
  const opened: Duplex[] = [];
  const host = openHost((_topic, stream) => opened.push(stream));
  await host.say(frame(OPEN, 2, 'topic'));
  for (let at = 0; at < 1000; at++) await host.say(frame(DATA, 2, 'x'), Buffer.alloc(65_536));
  await host.say(frame(END, 2));
  const pieces: Buffer[] = [];
  opened[0]!.on('data', (piece: Buffer) => pieces.push(piece));
  await once(opened[0]!, 'end');
  assert.equal(Buffer.concat(pieces).toString(), 'x'.repeat(1000));
  assert.ok(pieces.length <= 2);
  assert.ok(pieces.every((piece) => piece.buffer.byteLength === piece.length));
});

test('more than the window of a stream ends the channel', async () => {
  const host = openHost(() => {});
  await host.say(frame(OPEN, 2, 'topic'));
  for (let at = 0; at < 8; at++) await host.say(frame(DATA, 2, Buffer.alloc(16_384)));
  assert.equal(host.state.lost, null);
  await host.say(frame(DATA, 2, 'x'));
  assert.equal(host.state.lost, "The other side of a sandbox's channel sent more than the window of a stream");
});

/** What is written to one of them, the other one reads, a little at a time. */
function wirePair(): [Duplex, Duplex] {
  const ends: Duplex[] = [];
  for (const other of [1, 0])
    ends.push(
      new Duplex({
        read() {},
        write(chunk: Buffer, _encoding, done) {
          setImmediate(() => {
            for (let at = 0; at < chunk.length; at += 5000) ends[other]!.push(chunk.subarray(at, at + 5000));
            done();
          });
        },
      }),
    );
  return ends as [Duplex, Duplex];
}
