// Encoding of contents in a backup: compressed, and encrypted if there is a passphrase. Contents are named by hash, so
// equal contents are stored once. Used by the writer and the reader of backups.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { backupError } from './backup-error.ts';
import { damaged, type BackupHeader } from './manifest.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
const derive = promisify(scrypt) as (
  secret: string,
  salt: Buffer,
  bytes: number,
  cost: { N: number; r: number; p: number; maxmem: number },
) => Promise<Buffer>;

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CHECKED = 'platform backup';
/** Minimum passphrase length, because shorter passphrases can be guessed. */
const PASSPHRASE_CHARS_MIN = 12;

/** Encodes and decodes contents. */
export interface Codec {
  readonly encryption: BackupHeader['encryption'];
  /** Name of a content: 64 hexadecimal digits. */
  idOf(content: Uint8Array): string;
  encode(content: Uint8Array): Promise<Buffer>;
  /** @throws {Failure} `backup`: `damaged` when the content does not match its name, or exceeds `bytesMax`. */
  decode(id: string, encoded: Uint8Array, bytesMax: number): Promise<Buffer>;
}

/**
 * The codec of a new backup. @param passphrase null: not encrypted. @throws {Failure} `backup` for a weak passphrase.
 */
export async function newCodec(passphrase: string | null): Promise<Codec> {
  if (passphrase === null) return codecOf(null, null);
  if (passphrase.length < PASSPHRASE_CHARS_MIN)
    throw backupError(
      'passphrase',
      `The passphrase of the backup has fewer than ${PASSPHRASE_CHARS_MIN} characters`,
      'Create one with `openssl rand -hex 32`, and store it separately from the backups.',
    );
  const salt = randomBytes(16);
  return codecWith(passphrase, salt);
}

/**
 * The codec of an existing backup. @throws {Failure} `backup`: `passphrase` when the passphrase is missing or wrong.
 */
export async function codecFor(header: BackupHeader, passphrase: string | null): Promise<Codec> {
  if (header.encryption === null) return codecOf(null, null);
  if (passphrase === null)
    throw backupError('passphrase', 'The backup is encrypted', 'Set BACKUP_PASSPHRASE to its passphrase.');
  const codec = await codecWith(passphrase, Buffer.from(header.encryption.salt, 'hex'));
  if (!timingSafeEqual(Buffer.from(codec.encryption!.check, 'hex'), Buffer.from(header.encryption.check, 'hex')))
    throw backupError(
      'passphrase',
      'The passphrase does not match the backup',
      'Set BACKUP_PASSPHRASE to the passphrase of this backup.',
    );
  return codec;
}

async function codecWith(passphrase: string, salt: Buffer): Promise<Codec> {
  const both = await derive(passphrase, salt, 64, { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 });
  const [key, naming] = [both.subarray(0, 32), both.subarray(32)];
  const check = createHmac('sha256', naming).update(CHECKED).digest().subarray(0, 16).toString('hex');
  return codecOf({ key, naming }, { method: 'scrypt-aes-256-gcm', salt: salt.toString('hex'), check });
}

function codecOf(
  keys: { readonly key: Buffer; readonly naming: Buffer } | null,
  encryption: BackupHeader['encryption'],
): Codec {
  // A plain hash would reveal to readers of the archive which known contents it has.
  const idOf = (content: Uint8Array): string =>
    (keys === null ? createHash('sha256') : createHmac('sha256', keys.naming)).update(content).digest('hex');
  return {
    encryption,
    idOf,
    async encode(content) {
      const packed = await compress(content, { params: { [constants.ZSTD_c_compressionLevel]: 3 } });
      if (keys === null) return packed;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', keys.key, nonce);
      const sealed = Buffer.concat([cipher.update(packed), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
    },
    async decode(id, encoded, bytesMax) {
      let content: Buffer;
      try {
        content = await decompress(keys === null ? encoded : unsealed(keys.key, encoded), {
          maxOutputLength: bytesMax,
        });
      } catch (error) {
        throw damaged(`a content is not what was written (${(error as Error).message})`);
      }
      if (idOf(content) !== id) throw damaged('a content does not match its hash');
      return content;
    },
  };
}

function unsealed(key: Buffer, sealed: Uint8Array): Buffer {
  const at = NONCE_BYTES + TAG_BYTES;
  if (sealed.length < at) throw new Error('too short');
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, at));
  return Buffer.concat([decipher.update(sealed.subarray(at)), decipher.final()]);
}
