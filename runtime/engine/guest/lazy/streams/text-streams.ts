// TextEncoderStream and TextDecoderStream over the streams and codecs of this realm.
import type { ReadableStream, TransformStream, WritableStream } from 'web-streams-polyfill';
import type { LazyDeps } from '../../lazy.ts';

/** @param Transform the class of the streams. */
export function createTextStreams(deps: LazyDeps, Transform: typeof TransformStream): Record<string, unknown> {
  const { TextDecoder, encodeUtf8 } = deps;
  const { finishInterface, toDomString } = deps.webidl;

  class TextEncoderStream {
    readonly #transform: TransformStream<unknown, Uint8Array>;

    constructor() {
      let high = '';
      this.#transform = new Transform<unknown, Uint8Array>({
        transform(chunk, controller) {
          let text = high + toDomString(chunk);
          high = '';
          const last = text.charCodeAt(text.length - 1);
          // A high surrogate waits for the other half.
          if (last >= 0xd800 && last <= 0xdbff) {
            high = text.slice(-1);
            text = text.slice(0, -1);
          }
          if (text !== '') controller.enqueue(encodeUtf8(text));
        },
        flush(controller) {
          if (high !== '') controller.enqueue(encodeUtf8(high));
        },
      });
    }

    get encoding(): string {
      void this.#transform;
      return 'utf-8';
    }
    get readable(): ReadableStream<Uint8Array> {
      return this.#transform.readable;
    }
    get writable(): WritableStream<unknown> {
      return this.#transform.writable;
    }
  }
  finishInterface(TextEncoderStream);

  class TextDecoderStream {
    readonly #decoder: InstanceType<typeof TextDecoder>;
    readonly #transform: TransformStream<unknown, string>;

    constructor(label: unknown = 'utf-8', options: unknown = undefined) {
      const decoder = new TextDecoder(label, options);
      this.#decoder = decoder;
      this.#transform = new Transform<unknown, string>({
        transform(chunk, controller) {
          if (chunk === undefined) throw new TypeError('A chunk must be an ArrayBuffer or a view of one');
          const text = decoder.decode(chunk, { stream: true });
          if (text !== '') controller.enqueue(text);
        },
        flush(controller) {
          const text = decoder.decode();
          if (text !== '') controller.enqueue(text);
        },
      });
    }

    get encoding(): string {
      return this.#decoder.encoding;
    }
    get fatal(): boolean {
      return this.#decoder.fatal;
    }
    get ignoreBOM(): boolean {
      return this.#decoder.ignoreBOM;
    }
    get readable(): ReadableStream<string> {
      return this.#transform.readable;
    }
    get writable(): WritableStream<unknown> {
      return this.#transform.writable;
    }
  }
  finishInterface(TextDecoderStream);
  return { TextDecoderStream, TextEncoderStream };
}
