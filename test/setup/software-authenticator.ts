// An authenticator for passkeys in the test's process: creates keys, signs as browsers and authenticators do, and tells
// whatever lie a test asks for.
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';

/** Options of a page, as JSON. */
export interface PasskeyOptions {
  readonly challenge: string;
  readonly rpId?: string;
  readonly rp?: { readonly id: string };
  readonly user?: { readonly id: string; readonly name: string };
  readonly excludeCredentials?: readonly { readonly id: string }[];
}

/** What is said other than it is. */
interface Lies {
  readonly origin?: string;
  readonly rpId?: string;
  readonly type?: string;
  readonly crossOrigin?: unknown;
  readonly isVerified?: boolean;
  readonly counter?: number;
  readonly credentialId?: Buffer;
  readonly userHandle?: string;
  /** The attestation statement and its format. */
  readonly statement?: readonly [format: string, statement: ReadonlyMap<string, Value>];
}

type Algorithm = 'ES256' | 'EdDSA' | 'RS256';
type Fields = Record<string, string>;
type Value = string | number | Uint8Array | readonly Value[] | ReadonlyMap<string | number, Value>;

/** A credential of the authenticator. */
interface Credential {
  readonly id: Buffer;
  readonly privateKey: KeyObject;
  readonly algorithm: Algorithm;
  readonly userHandle: string;
}

const PRESENT = 1;
const VERIFIED = 4;
const HAS_CREDENTIAL = 64;

/** An authenticator, in a browser at an origin. */
export function createAuthenticator(origin: string, algorithm: Algorithm = 'ES256') {
  let credential: Credential | null = null;
  let counter = 0;

  const clientData = (type: string, { challenge }: PasskeyOptions, lies: Lies): Buffer =>
    Buffer.from(
      JSON.stringify({
        type: lies.type ?? type,
        challenge,
        origin: lies.origin ?? origin,
        crossOrigin: lies.crossOrigin ?? false,
      }),
    );
  const head = (rpId: string, flags: number, lies: Lies): Buffer => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(lies.counter ?? counter);
    const isVerified = lies.isVerified ?? true;
    return Buffer.concat([
      createHash('sha256')
        .update(lies.rpId ?? rpId)
        .digest(),
      Buffer.of(flags | PRESENT | (isVerified ? VERIFIED : 0)),
      count,
    ]);
  };
  return {
    /** Counts from now on, as security keys do. */
    count(): void {
      counter++;
    },
    /** `navigator.credentials.create`: the fields of the form. */
    create(options: PasskeyOptions, lies: Lies = {}): Fields {
      const { privateKey, cose } = newKey(algorithm);
      credential = { id: lies.credentialId ?? randomBytes(32), privateKey, algorithm, userHandle: options.user!.id };
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credential.id.length);
      const authData = Buffer.concat([
        head(options.rp!.id, HAS_CREDENTIAL, lies),
        Buffer.alloc(16),
        length,
        credential.id,
        cbor(cose),
      ]);
      const [format, statement] = lies.statement ?? ['none', new Map()];
      return {
        id: credential.id.toString('base64url'),
        clientDataJSON: clientData('webauthn.create', options, lies).toString('base64url'),
        attestationObject: cbor(
          new Map<string, Value>([
            ['fmt', format],
            ['attStmt', statement],
            ['authData', authData],
          ]),
        ).toString('base64url'),
      };
    },
    /** `navigator.credentials.get`: the fields of the form. */
    get(options: PasskeyOptions, lies: Lies = {}): Fields {
      const { id, privateKey, userHandle } = credential!;
      const json = clientData('webauthn.get', options, lies);
      const authData = head(options.rpId!, 0, lies);
      const signed = Buffer.concat([authData, createHash('sha256').update(json).digest()]);
      return {
        id: (lies.credentialId ?? id).toString('base64url'),
        clientDataJSON: json.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: sign(algorithm === 'EdDSA' ? null : 'sha256', signed, privateKey).toString('base64url'),
        userHandle: lies.userHandle ?? userHandle,
      };
    },
    /** The id of its credential. */
    credentialId: (): Buffer => credential!.id,
  };
}

export type Authenticator = ReturnType<typeof createAuthenticator>;

/** A new key, and its public half as COSE has it. */
function newKey(algorithm: Algorithm): { privateKey: KeyObject; cose: Map<number, Value> } {
  const { privateKey, publicKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : algorithm === 'EdDSA'
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { x, y, n, e } = publicKey.export({ format: 'jwk' });
  const bytes = (text: string | undefined): Buffer => Buffer.from(text!, 'base64url');
  const entries: Record<Algorithm, () => [number, Value][]> = {
    ES256: () => [
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytes(x)],
      [-3, bytes(y)],
    ],
    EdDSA: () => [
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, bytes(x)],
    ],
    RS256: () => [
      [1, 3],
      [3, -257],
      [-1, bytes(n)],
      [-2, bytes(e)],
    ],
  };
  return { privateKey, cose: new Map(entries[algorithm]()) };
}

/** CBOR of what authenticators send. */
function cbor(value: Value): Buffer {
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value);
  if (typeof value === 'string') return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([cborHead(2, value.length), value]);
  if (value instanceof Map) {
    const entries = [...(value as ReadonlyMap<string | number, Value>)];
    return Buffer.concat([cborHead(5, entries.length), ...entries.flatMap(([key, one]) => [cbor(key), cbor(one)])]);
  }
  const items = value as readonly Value[];
  return Buffer.concat([cborHead(4, items.length), ...items.map(cbor)]);
}

function cborHead(major: number, size: number): Buffer {
  if (size < 24) return Buffer.of((major << 5) | size);
  if (size < 256) return Buffer.of((major << 5) | 24, size);
  return Buffer.of((major << 5) | 25, size >> 8, size & 255);
}
