// node:crypto, combined from its parts. Missing functions throw when called (node-compat.ts generates those exports).
// Bundled into workers.
export {
  constants,
  getRandomValues,
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID,
  subtle,
  timingSafeEqual,
  webcrypto,
} from './crypto-random.ts';
export { createHash, createHmac, getHashes, Hash, hash, Hmac } from './crypto-hash.ts';
export { hkdf, hkdfSync, pbkdf2, pbkdf2Sync, scrypt, scryptSync } from './crypto-derive.ts';
export { Cipheriv, createCipheriv, createDecipheriv, Decipheriv, getCipherInfo, getCiphers } from './crypto-cipher.ts';
export { KeyObject } from './crypto-key-object.ts';
export {
  createECDH,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  diffieHellman,
  ECDH,
  generateKey,
  generateKeyPair,
  generateKeyPairSync,
  generateKeySync,
  getCurves,
} from './crypto-keys.ts';
export {
  createSign,
  createVerify,
  privateDecrypt,
  privateEncrypt,
  publicDecrypt,
  publicEncrypt,
  Sign,
  sign,
  Verify,
  verify,
} from './crypto-sign.ts';

export const getFips = (): number => 0;
