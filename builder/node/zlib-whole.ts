// node:zlib's one-shot functions: synchronous, with a callback, and as promises through util.promisify. The host does
// the work off its main thread. Bundled into workers by node-compat.ts.
import { toBuffer, toBytes } from './crypto-bytes.ts';
import type { Buffer } from './buffer.ts';
import { ask, askLater, toCallback } from './host-hooks.ts';

/** Options of zlib and Brotli that the host supports. */
export interface ZlibOptions {
  readonly level?: number;
  readonly memLevel?: number;
  readonly windowBits?: number;
  readonly strategy?: number;
  readonly finishFlush?: number;
  readonly flush?: number;
  readonly dictionary?: ArrayBufferView;
  readonly maxOutputLength?: number;
  readonly params?: Readonly<Record<number, number>>;
}

type Done = (error: Error | null, result?: Buffer) => void;

const none = new Uint8Array(0);
const named = ['level', 'memLevel', 'windowBits', 'strategy', 'finishFlush', 'maxOutputLength', 'params'] as const;

/** The options that are sent to the host. */
export function fieldsOf(method: string, options: ZlibOptions = {}): Record<string, unknown> {
  const fields: Record<string, unknown> = { method };
  for (const name of named) if (options[name] !== undefined) fields[name] = options[name];
  return fields;
}

/** The dictionary as an argument; empty if there is none. */
export function dictionaryOf(options: ZlibOptions | undefined): ArrayBufferView {
  return options?.dictionary ?? none;
}

function waiting(method: string): (data: unknown, options?: ZlibOptions) => Buffer {
  return (data, options) => {
    const parts = [toBytes(data, 'utf8', 'buffer'), dictionaryOf(options)];
    return toBuffer(ask('zlib', { op: 'whole', ...fieldsOf(method, options) }, parts).parts[0]!);
  };
}

function calling(method: string): (data: unknown, options: ZlibOptions | Done, callback?: Done) => void {
  return (data, options, callback) => {
    const given = typeof options === 'function' ? {} : options;
    const parts = [toBytes(data, 'utf8', 'buffer'), dictionaryOf(given)];
    const reply = askLater('zlib', { op: 'whole', ...fieldsOf(method, given) }, parts);
    toCallback(
      reply.then(({ parts: [result] }) => toBuffer(result!)),
      (callback ?? options) as Done,
    );
  };
}

export const gzipSync = /* @__PURE__ */ waiting('gzip');
export const gunzipSync = /* @__PURE__ */ waiting('gunzip');
export const deflateSync = /* @__PURE__ */ waiting('deflate');
export const inflateSync = /* @__PURE__ */ waiting('inflate');
export const deflateRawSync = /* @__PURE__ */ waiting('deflateRaw');
export const inflateRawSync = /* @__PURE__ */ waiting('inflateRaw');
export const unzipSync = /* @__PURE__ */ waiting('unzip');
export const brotliCompressSync = /* @__PURE__ */ waiting('brotliCompress');
export const brotliDecompressSync = /* @__PURE__ */ waiting('brotliDecompress');
export const gzip = /* @__PURE__ */ calling('gzip');
export const gunzip = /* @__PURE__ */ calling('gunzip');
export const deflate = /* @__PURE__ */ calling('deflate');
export const inflate = /* @__PURE__ */ calling('inflate');
export const deflateRaw = /* @__PURE__ */ calling('deflateRaw');
export const inflateRaw = /* @__PURE__ */ calling('inflateRaw');
export const unzip = /* @__PURE__ */ calling('unzip');
export const brotliCompress = /* @__PURE__ */ calling('brotliCompress');
export const brotliDecompress = /* @__PURE__ */ calling('brotliDecompress');

/** CRC-32 of bytes or text, continuing from `value`. */
export function crc32(data: unknown, value = 0): number {
  return ask('zlib', { op: 'crc32', value }, [toBytes(data, 'utf8', 'data')]).value as number;
}
