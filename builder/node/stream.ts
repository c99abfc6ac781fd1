// node:stream: the npm package `readable-stream`, Node's own streams outside of Node; unenv's are empty shells.
// Bundled into workers by node-compat.ts.
// @ts-expect-error the package has no types
import stream from 'readable-stream';
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
export const duplexPair = /* @__PURE__ */ unavailable('stream.duplexPair');
export const getDefaultHighWaterMark = (objectMode: boolean): number => (objectMode ? 16 : 16_384);
export const setDefaultHighWaterMark = /* @__PURE__ */ unavailable('stream.setDefaultHighWaterMark');

export default stream;
