// The streams classes, from web-streams-polyfill (figures against Node: bench/README.md, npm test -- wpt streams), and
// those built on them. A module of lazy.ts: two thirds of the guest's source, which a worker that answers with text
// never needs.
import * as polyfill from 'web-streams-polyfill';
import type { LazyParts } from '../lazy.ts';
import { createCompressionStreams } from './streams/compression.ts';
import { createByteTransforms } from './streams/fixed-length-stream.ts';
import { createTextStreams } from './streams/text-streams.ts';

export default function createStreams(parts: LazyParts): Record<string, unknown> {
  const { ReadableStream, ReadableStreamDefaultController, TransformStream } = polyfill;
  // The polyfill's asynchronous iterators are plain objects; in the standard they inherit from the language's own.
  const asyncGenerator = Object.getPrototypeOf(async function* () {}) as { prototype: object };
  Object.setPrototypeOf(
    Object.getPrototypeOf(new ReadableStream().values()) as object,
    Object.getPrototypeOf(asyncGenerator.prototype) as object,
  );
  // What the standard keeps in slots are properties here, in circles. They are no data: to JSON a stream is an empty
  // object. Not so a controller, of which the platform tests count the properties.
  const toJSON = { value: () => ({}), writable: true, configurable: true };
  for (const [name, { prototype }] of Object.entries(polyfill) as [string, { prototype: object }][])
    if (!name.endsWith('Controller')) Object.defineProperty(prototype, 'toJSON', toJSON);
  parts.provideStreams({
    ReadableStream,
    locked: Object.getOwnPropertyDescriptor(ReadableStream.prototype, 'locked')!.get!,
    pullSteps: Object.getOwnPropertySymbols(ReadableStreamDefaultController.prototype).find(
      ({ description }) => description === '[[PullSteps]]',
    )!,
  });
  return {
    ...polyfill,
    ...createCompressionStreams(parts, TransformStream),
    ...createTextStreams(parts, TransformStream),
    ...createByteTransforms(parts, TransformStream),
  };
}
