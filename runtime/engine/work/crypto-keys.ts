// Asymmetric keys of workers, on the threads that use them: parses keys from DER for each operation, validates and
// describes them.
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { tooMuch, type Fields } from './fields.ts';

export const MODULUS_BITS_MAX = 4096;
export const KEY_TYPES = ['rsa', 'rsa-pss', 'ec', 'ed25519', 'ed448', 'x25519', 'x448'];

export function checked(key: KeyObject): KeyObject {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === undefined || !KEY_TYPES.includes(type))
    throw new TypeError(
      `Keys of type ${type ?? 'secret'} are not supported in a worker: use one of ${KEY_TYPES.join(', ')}`,
    );
  if ((details?.modulusLength ?? 0) > MODULUS_BITS_MAX)
    throw tooMuch('modulusLength', details!.modulusLength!, `at most ${MODULUS_BITS_MAX}`);
  if ((details?.publicExponent ?? 0n) > 0xffffffffn) throw new RangeError('publicExponent must be below 2^32');
  return key;
}

export function privateKey(der: Uint8Array): KeyObject {
  return checked(createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' }));
}

export function publicKey(der: Uint8Array): KeyObject {
  return checked(createPublicKey({ key: Buffer.from(der), format: 'der', type: 'spki' }));
}

export function keyOf(fields: Fields, index: number): KeyObject {
  const der = fields.bytes(index);
  return fields.text('kind', ['private', 'public']) === 'private' ? privateKey(der) : publicKey(der);
}

export function derOf(key: KeyObject): Uint8Array {
  return key.type === 'private'
    ? key.export({ format: 'der', type: 'pkcs8' })
    : key.export({ format: 'der', type: 'spki' });
}

export function describe(key: KeyObject): object {
  const { publicExponent, ...details } = key.asymmetricKeyDetails ?? {};
  return {
    kind: key.type,
    type: key.asymmetricKeyType,
    details: { ...details, ...(publicExponent === undefined ? {} : { publicExponent: String(publicExponent) }) },
  };
}
