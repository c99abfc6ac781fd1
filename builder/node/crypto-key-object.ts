// KeyObject of node:crypto: a secret's bytes, or an asymmetric key as DER, which is sent to the host with each use.
// Bundled into workers by node-compat.ts.
import { Buffer } from './buffer.ts';
import { ask } from './host-hooks.ts';

/** The host's description of an asymmetric key. */
export interface KeyDescription {
  readonly kind: 'public' | 'private';
  readonly type: string;
  readonly details: Readonly<Record<string, unknown>>;
}

interface ExportOptions {
  readonly format?: string;
  readonly type?: string;
  readonly cipher?: string;
  readonly passphrase?: unknown;
}

export class KeyObject {
  readonly type: 'secret' | 'public' | 'private';
  readonly asymmetricKeyType: string | undefined;
  readonly asymmetricKeyDetails: Readonly<Record<string, unknown>> | undefined;
  /** The bytes of a secret; PKCS#8 for a private key, SPKI for a public key. */
  readonly #material: Uint8Array;

  constructor(material: Uint8Array, description?: KeyDescription) {
    this.type = description?.kind ?? 'secret';
    this.#material = material;
    if (description === undefined) return;
    this.asymmetricKeyType = description.type;
    const { publicExponent, ...details } = description.details;
    this.asymmetricKeyDetails = {
      ...details,
      ...(publicExponent === undefined ? {} : { publicExponent: BigInt(publicExponent as string) }),
    };
  }

  get material(): Uint8Array {
    return this.#material;
  }

  get symmetricKeySize(): number | undefined {
    return this.type === 'secret' ? this.#material.byteLength : undefined;
  }

  equals(other: KeyObject): boolean {
    return this.type === other.type && Buffer.compare(this.#material, other.#material) === 0;
  }

  export(options: ExportOptions = {}): unknown {
    if (this.type === 'secret') {
      const bytes = Buffer.from(this.#material);
      return options.format === 'jwk' ? { kty: 'oct', k: bytes.toString('base64url' as 'base64') } : bytes;
    }
    if (options.cipher !== undefined) throw new Error('Keys cannot be encrypted in a worker: encrypt the exported key');
    const type = options.type ?? (this.type === 'public' ? 'spki' : 'pkcs8');
    const { value, parts } = ask(
      'crypto',
      { op: 'exportKey', kind: this.type, format: options.format ?? 'pem', type },
      [this.#material],
    );
    return parts[0] === undefined ? value : Buffer.from(parts[0]);
  }

  get [Symbol.toStringTag](): string {
    return 'KeyObject';
  }
}
