// CompressionStream and DecompressionStream: zlib runs on the host, a chunk at a time. The output of one chunk may take
// several replies, so that a small input cannot fill the memory in one step.
import type { ReadableStream, TransformStream, WritableStream } from 'web-streams-polyfill';
import type { LazyDeps } from '../../lazy.ts';

const formats = ['deflate', 'deflate-raw', 'gzip', 'brotli'] as const;

interface Answer {
  readonly handle: number;
  /** Whether more output is ready. */
  readonly more: boolean;
}

interface Controller {
  enqueue(chunk: Uint8Array): void;
}

/** @param Transform the class of the streams. */
export function createCompressionStreams(deps: LazyDeps, Transform: typeof TransformStream): Record<string, unknown> {
  const { host, isUnsharedBufferSource, toBytes } = deps;
  const { finishInterface, requireArguments, toEnumeration } = deps.webidl;
  let abandoned: FinalizationRegistry<{ handle: number }> | null = null;

  function createCodec(format: string, direction: 'compress' | 'decompress'): TransformStream<unknown, Uint8Array> {
    const open = { handle: 0, released: false };
    const push = async (bytes: Uint8Array, last: boolean, controller: Controller): Promise<void> => {
      let reply = await host.call('compression.push', { handle: open.handle, format, direction, last }, [bytes]);
      for (;;) {
        const { handle, more } = reply.value as Answer;
        open.handle = handle;
        // The stream was cancelled during the host call.
        if (open.released) return release();
        for (const part of reply.parts) if (typeof part !== 'string' && part.byteLength > 0) controller.enqueue(part);
        if (!more) return;
        reply = await host.call('compression.pull', { handle });
      }
    };
    const release = (): void => {
      open.released = true;
      if (open.handle === 0) return;
      host.call('compression.close', { handle: open.handle }).catch(() => {});
      open.handle = 0;
    };
    const stream = new Transform<unknown, Uint8Array>({
      async transform(chunk, controller) {
        if (!isUnsharedBufferSource(chunk)) {
          release();
          throw new TypeError('A chunk must be an ArrayBuffer or a view of one');
        }
        const bytes = toBytes(chunk, 'A chunk');
        if (bytes.byteLength > 0) await push(bytes.slice(), false, controller);
      },
      async flush(controller) {
        await push(new Uint8Array(0), true, controller);
        open.handle = 0;
      },
      cancel: release,
    });
    abandoned ??= new FinalizationRegistry(({ handle }) => {
      if (handle !== 0) host.call('compression.close', { handle }).catch(() => {});
    });
    abandoned.register(stream, open);
    return stream;
  }

  class CompressionStream {
    readonly #stream: TransformStream<unknown, Uint8Array>;
    constructor(format: unknown) {
      requireArguments(arguments.length, 1, 'CompressionStream');
      this.#stream = createCodec(toEnumeration(format, formats, 'The compression format'), 'compress');
    }
    get readable(): ReadableStream<Uint8Array> {
      return this.#stream.readable;
    }
    get writable(): WritableStream<unknown> {
      return this.#stream.writable;
    }
  }
  finishInterface(CompressionStream);

  class DecompressionStream {
    readonly #stream: TransformStream<unknown, Uint8Array>;
    constructor(format: unknown) {
      requireArguments(arguments.length, 1, 'DecompressionStream');
      this.#stream = createCodec(toEnumeration(format, formats, 'The compression format'), 'decompress');
    }
    get readable(): ReadableStream<Uint8Array> {
      return this.#stream.readable;
    }
    get writable(): WritableStream<unknown> {
      return this.#stream.writable;
    }
  }
  finishInterface(DecompressionStream);
  return { CompressionStream, DecompressionStream };
}
