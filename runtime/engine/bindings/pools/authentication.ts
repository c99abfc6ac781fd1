// Authentication at the server of a pool: clear text, MD5 and SCRAM-SHA-256 (RFC 5802, RFC 7677). Tenants choose the
// server, so its demands are limited.
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { int32, message } from './messages.ts';

/** Rounds of SCRAM that a server may ask for; Postgres asks for 4,096. */
const ROUNDS_MAX = 200_000;
/** Rounds in one millisecond of a core. */
const ROUNDS_PER_MS = 2000;

const derive = promisify(pbkdf2);

/** One authentication. */
interface Authentication {
  /**
   * The reply to an authentication message, or null.
   *
   * @throws {Error} if the server requires an unsupported method, or did not prove that it has the password.
   */
  next(body: Buffer): Promise<Buffer | null>;
  /** Whether the server accepted the account. */
  readonly isDone: boolean;
}

/** @param charge takes milliseconds of CPU. */
export function authenticate(
  { user, password }: { readonly user: string; readonly password: string },
  charge: (ms: number) => void,
): Authentication {
  const nonce = randomBytes(18).toString('base64');
  const bare = `n=,r=${nonce}`;
  let serverSignature: Buffer | null = null;
  let isDone = false;
  let isProved = true;

  async function answerScram(text: string): Promise<Buffer> {
    const given = fieldsOf(text);
    const salt = Buffer.from(given['s'] ?? '', 'base64');
    const rounds = Number(given['i']);
    if (!(given['r'] ?? '').startsWith(nonce) || given['r'] === nonce || salt.length === 0 || salt.length > 1024)
      throw new Error('the server sent a SCRAM message that is not valid');
    if (!Number.isInteger(rounds) || rounds < 1 || rounds > ROUNDS_MAX)
      throw new Error(`the server asks for more than ${ROUNDS_MAX} rounds of SCRAM`);
    charge(rounds / ROUNDS_PER_MS);
    const salted = await derive(password.normalize('NFKC'), salt, rounds, 32, 'sha256');
    const clientKey = hmac(salted, 'Client Key');
    const last = `c=biws,r=${given['r']}`;
    const signed = `${bare},${text},${last}`;
    const clientSignature = hmac(sha256(clientKey), signed);
    const proof = Buffer.from(clientKey.map((byte, at) => byte ^ clientSignature[at]!));
    serverSignature = hmac(hmac(salted, 'Server Key'), signed);
    return message('p', `${last},p=${proof.toString('base64')}`);
  }

  return {
    get isDone() {
      return isDone;
    },
    async next(body) {
      if (body.length < 4) throw new Error('the server sent a message that is not valid');
      const kind = body.readInt32BE(0);
      const rest = body.subarray(4);
      if (kind === 0) {
        if (!isProved) throw new Error('the server did not prove that it knows the password');
        isDone = true;
        return null;
      }
      if (kind === 3) return message('p', `${password}\0`);
      if (kind === 5) return message('p', `md5${md5(md5(password + user), rest.subarray(0, 4))}\0`);
      if (kind === 10) {
        if (!rest.toString('latin1').split('\0').includes('SCRAM-SHA-256'))
          throw new Error('the server offers no SCRAM-SHA-256');
        isProved = false;
        const first = Buffer.from(`n,,${bare}`);
        return message('p', 'SCRAM-SHA-256\0', int32(first.length), first);
      }
      if (kind === 11 && !isProved && serverSignature === null) return answerScram(rest.toString('utf8'));
      if (kind === 12 && serverSignature !== null) {
        const claimed = Buffer.from(fieldsOf(rest.toString('utf8'))['v'] ?? '', 'base64');
        if (claimed.length !== serverSignature.length || !timingSafeEqual(claimed, serverSignature))
          throw new Error('the server did not prove that it knows the password');
        isProved = true;
        return null;
      }
      throw new Error(`the server asks for authentication ${kind}, which is not supported`);
    },
  };
}

function fieldsOf(text: string): Record<string, string> {
  const found: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const field of text.split(',')) found[field[0] ?? ''] = field.slice(2);
  return found;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function md5(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('md5');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}
