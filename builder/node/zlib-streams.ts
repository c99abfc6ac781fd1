// node:zlib's Transform streams. Each stream is a codec on the host; output is returned in chunks of limited size.
// Bundled into workers by node-compat.ts.
import { askLater } from './host-hooks.ts';
import { toBuffer } from './crypto-bytes.ts';
import { Transform as Base } from './stream.ts';
import { dictionaryOf, fieldsOf, type ZlibOptions } from './zlib-whole.ts';

type Done = (error?: Error | null) => void;

/** The parts of readable-stream's untyped class used in this file. */
interface TransformStream {
  push(chunk: Uint8Array): boolean;
  destroyed: boolean;
  write(chunk: unknown, done: Done): boolean;
}
const Transform = Base as new (options?: object) => TransformStream;

interface Reply {
  readonly handle: number;
  readonly more: boolean;
}

const FULL_FLUSH = 3;
const none = new Uint8Array(0);

/** An empty chunk that requests a flush of the given kind. */
class FlushMark {
  readonly kind: number;
  constructor(kind: number) {
    this.kind = kind;
  }
}

class ZlibStream extends Transform {
  readonly #method: string;
  readonly #options: ZlibOptions;
  #handle = 0;
  bytesWritten = 0;

  constructor(method: string, options: ZlibOptions = {}) {
    super({ ...options, writableObjectMode: true, decodeStrings: true });
    this.#method = method;
    this.#options = options;
  }

  async #step(chunk: Uint8Array, last: boolean, flush?: number): Promise<void> {
    const first = this.#handle === 0;
    const opening = first ? fieldsOf(this.#method, this.#options) : {};
    const fields = { op: 'push', handle: this.#handle, last, ...opening, ...(flush === undefined ? {} : { flush }) };
    let reply = await askLater('zlib', fields, [chunk, first ? dictionaryOf(this.#options) : none]);
    for (;;) {
      const { handle, more } = reply.value as Reply;
      this.#handle = last && !more ? 0 : handle;
      if (this.destroyed) {
        this.#release();
        return;
      }
      for (const part of reply.parts) if (part.byteLength > 0) this.push(toBuffer(part));
      if (!more) return;
      reply = await askLater('zlib', { op: 'pull', handle });
    }
  }

  #release(): void {
    const handle = this.#handle;
    this.#handle = 0;
    if (handle !== 0) askLater('zlib', { op: 'close', handle }).catch(() => {});
  }

  _transform(chunk: Uint8Array | string | FlushMark, encoding: string, done: Done): void {
    const isMark = chunk instanceof FlushMark;
    const bytes = isMark ? none : typeof chunk === 'string' ? toBuffer(new TextEncoder().encode(chunk)) : chunk;
    this.bytesWritten += bytes.byteLength;
    this.#step(bytes, false, isMark ? chunk.kind : this.#options.flush).then(() => done(), done);
  }

  _flush(done: Done): void {
    this.#step(none, true).then(() => done(), done);
  }

  _destroy(error: Error | null, done: Done): void {
    this.#release();
    done(error);
  }

  /** Flushes everything written so far. */
  flush(kind: number | Done = FULL_FLUSH, done: Done = () => {}): void {
    if (typeof kind === 'function') this.flush(FULL_FLUSH, kind);
    else this.write(new FlushMark(kind), done);
  }

  close(done: Done = () => {}): void {
    (this as unknown as { destroy(): void }).destroy();
    queueMicrotask(() => done());
  }
}

/** A class that can be called without `new`, as Node's can. */
function streamClass(method: string): new (options?: ZlibOptions) => ZlibStream {
  const Class = {
    [method]: class extends ZlibStream {
      constructor(options?: ZlibOptions) {
        super(method, options);
      }
    },
  }[method]!;
  return new Proxy(Class, { apply: (target, _self, [options]: [ZlibOptions?]) => new target(options) });
}

export const Gzip = /* @__PURE__ */ streamClass('gzip');
export const Gunzip = /* @__PURE__ */ streamClass('gunzip');
export const Deflate = /* @__PURE__ */ streamClass('deflate');
export const Inflate = /* @__PURE__ */ streamClass('inflate');
export const DeflateRaw = /* @__PURE__ */ streamClass('deflateRaw');
export const InflateRaw = /* @__PURE__ */ streamClass('inflateRaw');
export const Unzip = /* @__PURE__ */ streamClass('unzip');
export const BrotliCompress = /* @__PURE__ */ streamClass('brotliCompress');
export const BrotliDecompress = /* @__PURE__ */ streamClass('brotliDecompress');

export const createGzip = (options?: ZlibOptions): ZlibStream => new Gzip(options);
export const createGunzip = (options?: ZlibOptions): ZlibStream => new Gunzip(options);
export const createDeflate = (options?: ZlibOptions): ZlibStream => new Deflate(options);
export const createInflate = (options?: ZlibOptions): ZlibStream => new Inflate(options);
export const createDeflateRaw = (options?: ZlibOptions): ZlibStream => new DeflateRaw(options);
export const createInflateRaw = (options?: ZlibOptions): ZlibStream => new InflateRaw(options);
export const createUnzip = (options?: ZlibOptions): ZlibStream => new Unzip(options);
export const createBrotliCompress = (options?: ZlibOptions): ZlibStream => new BrotliCompress(options);
export const createBrotliDecompress = (options?: ZlibOptions): ZlibStream => new BrotliDecompress(options);
