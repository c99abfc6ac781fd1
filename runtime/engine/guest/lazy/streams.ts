// The streams classes, from web-streams-polyfill (figures against Node: bench/README.md, npm test -- wpt streams),
// and classes built on them. lazy.ts loads this module when it is first used: it is two thirds of the guest's source,
// and workers that respond with text never need it.
import * as polyfill from 'web-streams-polyfill';
import type { LazyDeps } from '../lazy.ts';
import { createCompressionStreams } from './streams/compression.ts';
import { createByteTransforms } from './streams/fixed-length-stream.ts';
import { createTextStreams } from './streams/text-streams.ts';

export default function createStreams(deps: LazyDeps): Record<string, unknown> {
  const { ReadableStream, ReadableStreamDefaultController, TransformStream } = polyfill;
  // The polyfill's asynchronous iterators are plain objects; according to the standard, they inherit from the built-in
  // iterators.
  const asyncGenerator = Object.getPrototypeOf(async function* () {}) as { prototype: object };
  Object.setPrototypeOf(
    Object.getPrototypeOf(new ReadableStream().values()) as object,
    Object.getPrototypeOf(asyncGenerator.prototype) as object,
  );
  // The standard's internal slots are properties in the polyfill, with cycles. They are not data, so the JSON of a
  // stream is an empty object. Controllers are not changed, because the web platform tests count their properties.
  const toJSON = { value: () => ({}), writable: true, configurable: true };
  for (const [name, { prototype }] of Object.entries(polyfill) as [string, { prototype: object }][])
    if (!name.endsWith('Controller')) Object.defineProperty(prototype, 'toJSON', toJSON);
  deps.provideStreams({
    ReadableStream,
    locked: Object.getOwnPropertyDescriptor(ReadableStream.prototype, 'locked')!.get!,
    pullSteps: Object.getOwnPropertySymbols(ReadableStreamDefaultController.prototype).find(
      ({ description }) => description === '[[PullSteps]]',
    )!,
  });
  return {
    ...polyfill,
    ...createCompressionStreams(deps, TransformStream),
    ...createTextStreams(deps, TransformStream),
    ...createByteTransforms(deps, TransformStream),
  };
}
