// Passwords of apps' users: hashed as better-auth does, on threads shared fairly between projects, and charged to the
// calling invocation. HTTP requests have no invocation, so they wait in a limited queue of their project. Used by
// better-auth.ts.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { APIError } from 'better-auth/api';
import { callOfUsers } from '../bindings/auth.ts';
import type { HostWork, WorkFor } from '../work/host-work.ts';
import type { PasswordQueue } from './site.ts';

/** N of scrypt. */
const COST = 16_384;
const scrypt = { r: 16, p: 1, length: 64, maxmem: 128 * COST * 16 * 2 };
/** The cost of one password hash. */
const HASH_MS = 35;
/** Maximum number of waiting passwords of one project, which take two to five seconds together. */
const WAITING_MAX = 50;

/** Password functions of one project. */
interface Passwords {
  hash(password: string): Promise<string>;
  verify(given: { readonly hash: string; readonly password: string }): Promise<boolean>;
}

/**
 * @param queue the password queue of the project.
 * @param cost the parameter N of scrypt.
 */
export function createPasswords(work: HostWork, queue: PasswordQueue, cost = COST): Passwords {
  const options = { ...scrypt, N: cost };
  const requests: WorkFor = {
    owner: { isOver: false, reserveCpu() {}, settleCpu() {} },
    isolate: { memory: { whole: queue } },
  };

  async function keyOf(password: string, salt: string): Promise<Uint8Array> {
    const call = callOfUsers.getStore();
    if (call === undefined && queue.waiting >= WAITING_MAX)
      throw new APIError('TOO_MANY_REQUESTS', { message: 'Too many passwords are waiting' });
    if (call === undefined) queue.waiting++;
    try {
      const parts = [bytesOf(password.normalize('NFKC')), bytesOf(salt)];
      const { parts: [key] = [] } = await work.onThread(call ?? requests, 'crypto.scrypt', options, parts, HASH_MS);
      return key as Uint8Array;
    } finally {
      if (call === undefined) queue.waiting--;
    }
  }

  return {
    async hash(password) {
      const salt = randomBytes(16).toString('hex');
      return `${salt}:${Buffer.from(await keyOf(password, salt)).toString('hex')}`;
    },
    async verify({ hash, password }) {
      const [salt, key] = hash.split(':');
      if (!salt || !key) throw new Error('Invalid password hash');
      const expected = Buffer.from(key, 'hex');
      const made = await keyOf(password, salt);
      return made.byteLength === expected.byteLength && timingSafeEqual(made, expected);
    },
  };
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text));
}
