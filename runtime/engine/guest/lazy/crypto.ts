// crypto: randomness from the host, drawn in batches for small amounts; subtle is in crypto/subtle.ts. This is one of
// the modules of lazy.ts.
import { host } from '../host.ts';
import { provideModule } from '../modules.ts';
import { DOMException, QuotaExceededError } from '../web/dom-exception.ts';
import { finishInterface, internal, requireArguments } from '../web/webidl.ts';
import { CryptoKey } from './crypto/key.ts';
import { SubtleCrypto } from './crypto/subtle.ts';

export { CryptoKey, SubtleCrypto };

const UUID_BATCH = 64;
let pool: Uint8Array | null = null;
let poolAt = 0;
let hex: string[] | null = null;

const integerArrays = new Set([
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'BigInt64Array',
  'BigUint64Array',
]);
const typedArrayTag = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype) as object,
  Symbol.toStringTag,
)!.get!;

export class Crypto {
  #subtle: SubtleCrypto | null = null;

  constructor(token: unknown = undefined) {
    if (token !== internal) throw new TypeError('Illegal constructor');
  }

  get subtle(): SubtleCrypto {
    return (this.#subtle ??= new SubtleCrypto(internal));
  }

  getRandomValues<T extends ArrayBufferView>(array: T): T {
    void this.#subtle;
    requireArguments(arguments.length, 1, 'crypto.getRandomValues');
    if (!ArrayBuffer.isView(array)) throw new TypeError('getRandomValues needs a typed array');
    if (!integerArrays.has(typedArrayTag.call(array) as string))
      throw new DOMException('getRandomValues needs an array of integers', 'TypeMismatchError');
    if (array.byteLength > 65536)
      throw new QuotaExceededError(`getRandomValues gives at most 65536 bytes at once, not ${array.byteLength}`);
    if (array.byteLength > 0) host.randomFill(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return array;
  }

  randomUUID(): string {
    void this.#subtle;
    hex ??= Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
    if (pool === null || poolAt >= pool.length) {
      pool ??= new Uint8Array(16 * UUID_BATCH);
      host.randomFill(pool);
      poolAt = 0;
    }
    const at = poolAt;
    poolAt += 16;
    const version = (pool[at + 6]! & 0x0f) | 0x40;
    const variant = (pool[at + 8]! & 0x3f) | 0x80;
    const text =
      `${hex[pool[at]!]!}${hex[pool[at + 1]!]!}${hex[pool[at + 2]!]!}${hex[pool[at + 3]!]!}-${hex[pool[at + 4]!]!}${hex[pool[at + 5]!]!}` +
      `-${hex[version]!}${hex[pool[at + 7]!]!}-${hex[variant]!}${hex[pool[at + 9]!]!}-${hex[pool[at + 10]!]!}${hex[pool[at + 11]!]!}` +
      `${hex[pool[at + 12]!]!}${hex[pool[at + 13]!]!}${hex[pool[at + 14]!]!}${hex[pool[at + 15]!]!}`;
    // The bytes are overwritten, so that returned random bytes do not stay in memory.
    pool.fill(0, at, poolAt);
    return text;
  }
}
finishInterface(Crypto);

export const crypto = new Crypto(internal);
declare module '../modules.ts' {
  interface Modules {
    crypto: { readonly crypto: typeof crypto };
  }
}

provideModule('crypto', { crypto });
