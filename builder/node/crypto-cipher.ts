// createCipheriv and createDecipheriv of node:crypto. The cipher's state is on the host. Bundled into workers by
// node-compat.ts.
import { Buffer } from './buffer.ts';
import { encoded, invalidType, toBuffer, toBytes } from './crypto-bytes.ts';
import { ask, askLater } from './host-hooks.ts';

const modes: Readonly<Record<string, number>> = { cbc: 16, ctr: 16, ecb: 0, gcm: 12, cfb: 16, ofb: 16 };
/** Maximum number of bytes that the host processes in one step. */
const STEP_BYTES = 1024 * 1024;
const none = new Uint8Array(0);

interface CipherFacts {
  readonly keyBytes: number;
  readonly ivBytes: number;
  readonly mode: string;
}

function factsOf(algorithm: string): CipherFacts | undefined {
  if (algorithm === 'chacha20-poly1305') return { keyBytes: 32, ivBytes: 12, mode: 'stream' };
  const [, bits, mode] = /^aes-(128|192|256)-([a-z]+)$/.exec(algorithm) ?? [];
  return mode !== undefined && Object.hasOwn(modes, mode)
    ? { keyBytes: Number(bits) / 8, ivBytes: modes[mode]!, mode }
    : undefined;
}

let abandoned: FinalizationRegistry<{ handle: number }> | undefined;

function coded(error: Error, code: string): Error {
  return Object.assign(error, { code });
}

/** Options of an authenticated cipher. */
export interface CipherOptions {
  readonly authTagLength?: number;
}

class Cipher {
  readonly #open: Record<string, unknown> & { handle: number };
  readonly #key: Uint8Array;
  readonly #iv: Uint8Array;
  readonly #decrypts: boolean;
  #aad: Uint8Array = none;
  #tag: Uint8Array = none;
  #madeTag: Uint8Array | undefined;
  #over = false;

  constructor(decrypts: boolean, name: string, key: unknown, iv: unknown, options: CipherOptions = {}) {
    if (typeof name !== 'string') throw invalidType('cipher', 'of type string', name);
    const algorithm = name.toLowerCase();
    const facts = factsOf(algorithm);
    if (facts === undefined) throw coded(new Error('Unknown cipher'), 'ERR_CRYPTO_UNKNOWN_CIPHER');
    this.#decrypts = decrypts;
    this.#key = toBytes(key, 'utf8', 'key').slice();
    this.#iv = iv === null ? none : toBytes(iv, 'utf8', 'iv').slice();
    if (this.#key.byteLength !== facts.keyBytes)
      throw coded(new RangeError('Invalid key length'), 'ERR_CRYPTO_INVALID_KEYLEN');
    if (facts.mode === 'gcm' ? this.#iv.byteLength === 0 : this.#iv.byteLength !== facts.ivBytes)
      throw coded(new TypeError('Invalid initialization vector'), 'ERR_CRYPTO_INVALID_IV');
    this.#open = {
      handle: 0,
      algorithm,
      decrypts,
      ...(options.authTagLength === undefined ? {} : { tagBytes: options.authTagLength }),
    };
  }

  #step(data: Uint8Array, last: boolean): Uint8Array[] {
    if (this.#over) throw coded(new Error('Unsupported state'), 'ERR_CRYPTO_INVALID_STATE');
    const first = this.#open.handle === 0;
    const parts = [first ? this.#key : none, first ? this.#iv : none, this.#aad, this.#tag, data];
    const fields = first ? this.#open : { handle: this.#open.handle };
    // A step that fails closes the cipher on the host.
    this.#over = true;
    const { value, parts: outputs } = ask('crypto', { op: 'cipher', ...fields, last }, parts);
    this.#over = last;
    this.#aad = none;
    this.#tag = none;
    this.#open.handle = last ? 0 : (value as { handle: number }).handle;
    if (first && !last) {
      abandoned ??= new FinalizationRegistry(({ handle }) => {
        if (handle !== 0) askLater('crypto', { op: 'release', handle }).catch(() => {});
      });
      abandoned.register(this, this.#open);
    }
    const [output, rest, tag] = outputs as [Uint8Array, Uint8Array, Uint8Array];
    if (tag.byteLength > 0) this.#madeTag = tag;
    return [output, rest];
  }

  update(data: unknown, inputEncoding?: string, outputEncoding?: string): Buffer | string {
    const bytes = toBytes(data, inputEncoding, 'data');
    if (bytes.byteLength <= STEP_BYTES) return encoded(this.#step(bytes, false)[0]!, outputEncoding);
    const outputs: Uint8Array[] = [];
    for (let at = 0; at < bytes.byteLength; at += STEP_BYTES)
      outputs.push(this.#step(bytes.subarray(at, at + STEP_BYTES), false)[0]!);
    return encoded(Buffer.concat(outputs), outputEncoding);
  }

  final(outputEncoding?: string): Buffer | string {
    return encoded(this.#step(none, true)[1]!, outputEncoding);
  }

  setAutoPadding(on = true): this {
    this.#open['autoPadding'] = on;
    return this;
  }

  setAAD(data: unknown, options?: { readonly encoding?: string }): this {
    this.#aad = toBytes(data, options?.encoding, 'buffer').slice();
    return this;
  }

  getAuthTag(): Buffer {
    if (this.#madeTag === undefined)
      throw coded(new Error('Invalid state for operation getAuthTag'), 'ERR_CRYPTO_INVALID_STATE');
    return toBuffer(this.#madeTag);
  }

  setAuthTag(tag: unknown, encoding?: string): this {
    if (!this.#decrypts) throw coded(new Error('Invalid state for operation setAuthTag'), 'ERR_CRYPTO_INVALID_STATE');
    this.#tag = toBytes(tag, encoding, 'buffer').slice();
    return this;
  }
}

export class Cipheriv extends Cipher {
  constructor(algorithm: string, key: unknown, iv: unknown, options?: CipherOptions) {
    super(false, algorithm, key, iv, options);
  }
}

export class Decipheriv extends Cipher {
  constructor(algorithm: string, key: unknown, iv: unknown, options?: CipherOptions) {
    super(true, algorithm, key, iv, options);
  }
}

export function createCipheriv(algorithm: string, key: unknown, iv: unknown, options?: CipherOptions): Cipheriv {
  return new Cipheriv(algorithm, key, iv, options);
}

export function createDecipheriv(algorithm: string, key: unknown, iv: unknown, options?: CipherOptions): Decipheriv {
  return new Decipheriv(algorithm, key, iv, options);
}

export function getCiphers(): string[] {
  return [
    ...['128', '192', '256'].flatMap((bits) => Object.keys(modes).map((mode) => `aes-${bits}-${mode}`)),
    'chacha20-poly1305',
  ].sort();
}

export function getCipherInfo(name: string): object | undefined {
  const facts = factsOf(String(name).toLowerCase());
  if (facts === undefined) return undefined;
  const { keyBytes, ivBytes, mode } = facts;
  return {
    mode,
    name: name.toLowerCase(),
    keyLength: keyBytes,
    ...(ivBytes === 0 ? {} : { ivLength: ivBytes }),
    ...(mode === 'cbc' || mode === 'ecb' ? { blockSize: 16 } : {}),
  };
}
