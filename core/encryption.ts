// Encrypts database fields that must not be readable there: values of variables, credentials. AES-256-GCM with the
// key of `ENCRYPTION_KEY`; data sealed with an earlier key can be read as long as that key is listed. Pure.
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

/** The keys of `ENCRYPTION_KEY`; the current key comes first. */
export interface EncryptionKeys {
  readonly current: EncryptionKey;
  readonly all: readonly EncryptionKey[];
}

interface EncryptionKey {
  /** First bytes of its hash: identifies the key of sealed data. */
  readonly id: Buffer;
  readonly key: Buffer;
}

const VERSION = 1;
const ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CHARS_MIN = 32;

/**
 * Parses `ENCRYPTION_KEY`: one key or several separated by commas, the current key first.
 *
 * @throws {Error} that names the variable and the command that generates a key; never the value.
 */
export function encryptionKeys(text: string): EncryptionKeys {
  const all = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(toKey);
  const [current] = all;
  if (current === undefined)
    throw new Error('ENCRYPTION_KEY is not set: make one with `openssl rand -hex 32`, and keep it with your backups');
  return { current, all };
}

function toKey(text: string): EncryptionKey {
  if (text.length < CHARS_MIN || new Set(text).size < 8)
    throw new Error(
      `ENCRYPTION_KEY is weak: each key needs at least ${CHARS_MIN} characters; make one with \`openssl rand -hex 32\``,
    );
  const key = Buffer.from(hkdfSync('sha256', text, '', 'platform encryption', 32));
  return { id: createHash('sha256').update(key).digest().subarray(0, ID_BYTES), key };
}

/**
 * Seals a text with the current key.
 *
 * @param context the location of the text, such as `variable:prj_1:API_KEY`: the text cannot be decrypted with another
 *   context.
 */
export function seal({ current }: EncryptionKeys, text: string, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', current.key, nonce).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), current.id, nonce, cipher.getAuthTag(), sealed]);
}

/** @throws {Error} when the value was not sealed with a listed key, was changed, or has another context. */
export function unseal({ all }: EncryptionKeys, sealed: Uint8Array, context: string): string {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const nonceAt = 1 + ID_BYTES;
  const tagAt = nonceAt + NONCE_BYTES;
  const textAt = tagAt + TAG_BYTES;
  const found = bytes[0] === VERSION && bytes.length >= textAt;
  const key = found ? all.find(({ id }) => id.equals(bytes.subarray(1, nonceAt))) : undefined;
  if (key === undefined)
    throw new Error('A value was encrypted with a key that ENCRYPTION_KEY does not list: add the earlier key to it');
  const decipher = createDecipheriv('aes-256-gcm', key.key, bytes.subarray(nonceAt, tagAt), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(tagAt, textAt));
  return Buffer.concat([decipher.update(bytes.subarray(textAt)), decipher.final()]).toString('utf8');
}

/**
 * Whether a value is sealed with the current key. If not, it must be sealed again before the earlier key can be
 * removed.
 */
export function isCurrent({ current }: EncryptionKeys, sealed: Uint8Array): boolean {
  return sealed[0] === VERSION && current.id.equals(sealed.subarray(1, 1 + ID_BYTES));
}
