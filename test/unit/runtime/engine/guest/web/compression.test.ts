import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as zlib from 'node:zlib';
import type { ReadableStream as StreamOfGuest } from 'web-streams-polyfill';
import { readAllBytes } from '#runtime/engine/guest/web/streams.ts';
import { connectGuestHost, lazyGlobals } from '#test/setup/guest-host.ts';

const handles = connectGuestHost();
const guest = lazyGlobals();
const GuestStream = guest.ReadableStream as unknown as typeof StreamOfGuest;
type GuestStream<R> = StreamOfGuest<R>;
const { CompressionStream: GuestCompression, DecompressionStream: GuestDecompression } = guest;
const FixedLengthStream = guest['FixedLengthStream'] as new (
  length: number | bigint,
) => TransformStream<unknown, Uint8Array>;

function streamOf(...chunks: Uint8Array[]): GuestStream<Uint8Array> {
  return new GuestStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

const through = (stream: GuestStream<Uint8Array>, pair: unknown) => readAllBytes(stream.pipeThrough(pair as never));

const codecs = [
  ['gzip', zlib.gunzipSync, zlib.gzipSync],
  ['deflate', zlib.inflateSync, zlib.deflateSync],
  ['deflate-raw', zlib.inflateRawSync, zlib.deflateRawSync],
  ['brotli', zlib.brotliDecompressSync, zlib.brotliCompressSync],
] as const;

for (const [format, decompress, compress] of codecs) {
  test(`exchanges ${format} with zlib, chunk by chunk`, async () => {
    const text = Buffer.from('some text that repeats, '.repeat(20_000));
    const packed = await through(streamOf(text.subarray(0, 1000), text.subarray(1000)), new GuestCompression(format));
    assert.deepEqual(Buffer.from(decompress(packed)), text);
    const made = compress(text);
    const unpacked = await through(streamOf(made.subarray(0, 10), made.subarray(10)), new GuestDecompression(format));
    assert.deepEqual(Buffer.from(unpacked), text);
    assert.equal(
      (await through(streamOf(), new GuestCompression(format))).byteLength,
      compress(Buffer.alloc(0)).byteLength,
    );
  });
}

test('unpacks what is a thousand times its size without a chunk beyond the bound', async () => {
  const bomb = zlib.gzipSync(Buffer.alloc(20_000_000));
  let total = 0;
  let largest = 0;
  for await (const chunk of streamOf(bomb).pipeThrough(
    new GuestDecompression('gzip') as never,
  ) as unknown as AsyncIterable<Uint8Array>) {
    total += chunk.byteLength;
    largest = Math.max(largest, chunk.byteLength);
  }
  assert.equal(total, 20_000_000);
  assert.ok(largest <= 256 * 1024);
});

test('fails on corrupt, cut off and trailing bytes, and on chunks that are no bytes', async () => {
  const packed = zlib.gzipSync('text');
  for (const bad of [
    Buffer.from('not gzip at all'),
    packed.subarray(0, 12),
    Buffer.concat([packed, Buffer.from('x')]),
  ]) {
    await assert.rejects(through(streamOf(bad), new GuestDecompression('gzip')), { name: 'TypeError' });
  }
  await assert.rejects(through(streamOf('text' as never), new GuestCompression('gzip')), { name: 'TypeError' });
  assert.throws(() => new GuestCompression('zip' as 'gzip'), { name: 'TypeError' });
});

test('closes the codec on the host when the stream is over, cancelled or broken', async () => {
  const before = handles.add({});
  await through(streamOf(Buffer.from('x')), new GuestCompression('gzip'));
  const { writable, readable } = new GuestCompression('gzip');
  const written = writable.getWriter().write(Buffer.from('x'));
  await readable.cancel();
  await written.catch(() => {});
  await through(streamOf(Buffer.from('junk')), new GuestDecompression('gzip')).catch(() => {});
  for (let handle = before + 1; handle < before + 4; handle++) assert.equal(handles.get(handle), undefined);
});

test('holds a stream to the length that was announced', async () => {
  const bytes = await through(streamOf(Buffer.from('ab'), Buffer.from('c')), new FixedLengthStream(3));
  assert.equal(Buffer.from(bytes).toString(), 'abc');
  await assert.rejects(through(streamOf(Buffer.from('abcd')), new FixedLengthStream(3)), { name: 'TypeError' });
  await assert.rejects(through(streamOf(Buffer.from('ab')), new FixedLengthStream(3)), { name: 'TypeError' });
});
