// node:string_decoder: text from chunks that may end inside a character. Bundled into workers by node-compat.ts.
import { Buffer } from './buffer.ts';

type Chunk = Uint8Array | string;

/** Decodes chunks, holding back the bytes of an incomplete character. */
export class StringDecoder {
  readonly encoding: string;
  readonly #text: InstanceType<typeof TextDecoder> | null;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(encoding = 'utf8') {
    const name = encoding.toLowerCase();
    if (!Buffer.isEncoding(name)) throw new TypeError(`Unknown encoding: ${encoding}`);
    this.encoding =
      name === 'utf-8' ? 'utf8' : name === 'ucs2' || name === 'ucs-2' || name === 'utf-16le' ? 'utf16le' : name;
    const label = this.encoding === 'utf8' ? 'utf-8' : this.encoding === 'utf16le' ? 'utf-16le' : null;
    this.#text = label === null ? null : new TextDecoder(label, { ignoreBOM: true });
  }

  write(chunk: Chunk): string {
    if (typeof chunk === 'string') return chunk;
    if (this.#text) return this.#text.decode(chunk as Uint8Array<ArrayBuffer>, { stream: true });
    const bytes = Buffer.concat([this.#rest, chunk]);
    // Base64 encodes three bytes as four characters; before the end, only whole groups are encoded.
    const whole = this.encoding.startsWith('base64') ? bytes.length - (bytes.length % 3) : bytes.length;
    this.#rest = bytes.subarray(whole);
    return bytes.toString(this.encoding as 'base64', 0, whole);
  }

  end(chunk?: Chunk): string {
    const text = chunk === undefined ? '' : this.write(chunk);
    if (this.#text) return text + this.#text.decode();
    const rest = Buffer.from(this.#rest).toString(this.encoding as 'base64');
    this.#rest = new Uint8Array(0);
    return text + rest;
  }
}

export default { StringDecoder };
