// Passwords of accounts: hashed with scrypt on threads of the pool, few at a time, and refused where they are short or
// common. Passwords are never sent elsewhere for this check. Created once per process by sign-in/open.ts.
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { ApiError } from '../http/errors.ts';

/** The passwords of an installation. */
export interface Passwords {
  /** @throws {ApiError} `unavailable` if too many requests are waiting, as `verify` does. */
  hash(password: string): Promise<string>;
  /**
   * @param hash null if the account does not exist. For an unknown account, this takes as long as for an existing
   * account.
   */
  verify(password: string, hash: string | null): Promise<boolean>;
  /** Why a new password is refused, as a sentence; null if it is accepted. */
  problemOf(password: string, username: string): Promise<string | null>;
}

/** N of scrypt, as for users of apps: 32 MB and about 50 ms. */
const COST = 16_384;
const BLOCK = 16;
const KEY_BYTES = 64;
const MEMORY_BYTES_MAX = 64 * 1024 * 1024;
const RUNNING_MAX = 2;
const WAITING_MAX = 50;
export const PASSWORD_CHARS_MIN = 10;
export const PASSWORD_CHARS_MAX = 128;
/** A common word with up to this many digits and signs around it still counts as common. */
const AROUND_MAX = 6;
const DIGITS_MIN = 16;
const LIST = path.join(import.meta.dirname, 'common-passwords.txt');

/** @param cost N of scrypt; tests hash many passwords, and use a lower cost. */
export function createPasswords(cost: number = COST): Passwords {
  const turns: (() => void)[] = [];
  let running = 0;
  let list: Promise<ReadonlySet<string>> | null = null;
  // If the account does not exist, the password is compared with this hash, which takes as long.
  const decoy = `${randomBytes(16).toString('hex')}:${randomBytes(KEY_BYTES).toString('hex')}`;

  async function keyOf(password: string, salt: string): Promise<Buffer> {
    if (turns.length >= WAITING_MAX)
      throw new ApiError('unavailable', { reason: 'Too many people are signing in: try again in a moment' });
    if (running >= RUNNING_MAX) await new Promise<void>((resolve) => turns.push(resolve));
    else running++;
    try {
      return await derive(password.normalize('NFKC'), salt, cost);
    } finally {
      const next = turns.shift();
      if (next === undefined) running--;
      else next();
    }
  }

  return {
    async hash(password) {
      const salt = randomBytes(16).toString('hex');
      return `${salt}:${(await keyOf(password, salt)).toString('hex')}`;
    },
    async verify(password, hash) {
      const [salt = '', key = ''] = (hash ?? decoy).split(':');
      const made = await keyOf(password.slice(0, PASSWORD_CHARS_MAX + 1), salt);
      const expected = Buffer.from(key, 'hex');
      return made.length === expected.length && timingSafeEqual(made, expected) && hash !== null;
    },
    async problemOf(password, username) {
      list ??= readFile(LIST, 'utf8').then((text) => new Set(text.split('\n').filter((line) => !/^#|^$/.test(line))));
      return problemOf(password, username, await list);
    },
  };
}

function derive(password: string, salt: string, cost: number): Promise<Buffer> {
  const options = { N: cost, r: BLOCK, p: 1, maxmem: MEMORY_BYTES_MAX };
  return new Promise((resolve, reject) => {
    scrypt(password, salt, KEY_BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}

function problemOf(password: string, username: string, common: ReadonlySet<string>): string | null {
  const plain = password.normalize('NFKC').toLowerCase();
  const { length } = [...plain];
  if (length < PASSWORD_CHARS_MIN) return `Use at least ${PASSWORD_CHARS_MIN} characters.`;
  if (length > PASSWORD_CHARS_MAX) return `Use at most ${PASSWORD_CHARS_MAX} characters.`;
  if (/^\d+$/.test(plain) && length < DIGITS_MIN) return 'Use more than digits.';
  const [, unit = plain] = /^(.{1,64}?)\1+$/su.exec(plain) ?? [];
  const isPattern = unit !== plain && unit.length < 5;
  if (isPattern || isCommon(plain, common) || isCommon(unit, common))
    return 'This password is too common. Use several words, or a password manager.';
  const rest = plain.replaceAll(username.toLowerCase(), '');
  if (username.length > 3 && rest.length <= AROUND_MAX) return 'The password must not be your username.';
  return null;
}

const letters: Readonly<Record<string, string>> = {
  '@': 'a',
  '4': 'a',
  '3': 'e',
  '1': 'i',
  '!': 'i',
  '0': 'o',
  $: 's',
  '5': 's',
  '7': 't',
};

/** Whether the password is a common word, also with digits and signs around it or instead of letters. */
function isCommon(plain: string, common: ReadonlySet<string>): boolean {
  const word = plain.replace(/^[^a-z]+/, '').replace(/[^a-z]+$/, '');
  const spelled = word.replace(/[@4310!$57]/g, (sign) => letters[sign]!);
  return common.has(plain) || (plain.length - word.length <= AROUND_MAX && (common.has(word) || common.has(spelled)));
}
