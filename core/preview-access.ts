// The stored password of a project's previews (`project.settings.previewPassword`), and the bypass token of programs
// (`previewBypassHash`, SHA-256 in hex): created by the API, verified by engines.
import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

const COST = 2 ** 14;
const KEY_BYTES = 32;

function derive(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, KEY_BYTES, { N: COST }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}

/** @returns `scrypt$<salt>$<key>`; takes some 50 ms, off the main thread. */
export async function hashPreviewPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  return `scrypt$${salt.toString('base64url')}$${(await derive(password, salt)).toString('base64url')}`;
}

/** Whether the password is correct; false for any value that {@link hashPreviewPassword} did not create. */
export async function isPreviewPassword(kept: string, password: string): Promise<boolean> {
  const [, salt, key] = /^scrypt\$([\w-]{22})\$([\w-]{43})$/.exec(kept) ?? [];
  if (salt === undefined || key === undefined) return false;
  return timingSafeEqual(await derive(password, Buffer.from(salt, 'base64url')), Buffer.from(key, 'base64url'));
}

/** SHA-256 in hex, the stored form of the bypass token. */
export function hashPreviewBypass(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Whether the bypass token is correct. */
export function isPreviewBypass(kept: string, token: string): boolean {
  const given = Buffer.from(hashPreviewBypass(token));
  const known = Buffer.from(kept);
  return given.length === known.length && timingSafeEqual(given, known);
}
