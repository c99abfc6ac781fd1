// node:stream: the npm package `readable-stream`, which contains Node's own stream code; unenv only has stubs. Bundled
// into workers by node-compat.ts.
// @ts-expect-error the package has no types
import stream from 'readable-stream';
import { webAdapters } from './stream-adapters.ts';
import { unavailable } from './unavailable.ts';

type Streams = Record<string, unknown>;

export const {
  Stream,
  Readable,
  Writable,
  Duplex,
  Transform,
  PassThrough,
  addAbortSignal,
  compose,
  destroy,
  finished,
  isDisturbed,
  isErrored,
  isReadable,
  pipeline,
  promises,
  _isUint8Array,
  _uint8ArrayToBuffer,
} = stream as unknown as Streams;

const adapters = webAdapters(stream as never);
for (const kind of ['Readable', 'Writable', 'Duplex'] as const)
  Object.assign((stream as Record<string, object>)[kind]!, adapters[kind]);

export const duplexPair = /* @__PURE__ */ unavailable('stream.duplexPair');
export const getDefaultHighWaterMark = (objectMode: boolean): number => (objectMode ? 16 : 16_384);
export const setDefaultHighWaterMark = /* @__PURE__ */ unavailable('stream.setDefaultHighWaterMark');

export default stream;
