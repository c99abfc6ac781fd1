// How a connection proves who it is: the answers to the server's questions (SCRAM-SHA-256, MD5, plain). Used by wire-connection.ts.
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** Who connects. */
export interface WireUser {
  readonly user: string;
  readonly password: string;
}

/** Answers to one login. */
export interface WireLogin {
  /** @returns the password message, or null where none is wanted. @throws {Error} for a way it does not know, or a server that lies. */
  answer(kind: number, body: Buffer): Promise<Buffer | null>;
}

const derive = promisify(pbkdf2);
const mechanism = 'SCRAM-SHA-256';
/** A server that asked for more would keep us reckoning. */
const iterationsMax = 1_000_000;

export function createWireLogin({ user, password }: WireUser): WireLogin {
  const nonce = randomBytes(18).toString('base64');
  const first = `n=*,r=${nonce}`;
  let serverSignature: Buffer | null = null;

  async function prove(challenge: string): Promise<Buffer> {
    const fields = new Map(challenge.split(',').map((field) => [field[0], field.slice(2)]));
    const [theirNonce = '', salt = '', iterations = 0] = [fields.get('r'), fields.get('s'), Number(fields.get('i'))];
    if (!theirNonce.startsWith(nonce) || !(iterations >= 1 && iterations <= iterationsMax))
      throw new Error('The database asked for a proof that makes no sense');
    const salted = await derive(password.normalize('NFKC'), Buffer.from(salt, 'base64'), iterations, 32, 'sha256');
    const clientKey = hmac(salted, 'Client Key');
    const last = `c=biws,r=${theirNonce}`;
    const whole = `${first},${challenge},${last}`;
    const signature = hmac(createHash('sha256').update(clientKey).digest(), whole);
    serverSignature = hmac(hmac(salted, 'Server Key'), whole);
    const proof = Buffer.from(clientKey.map((byte, index) => byte ^ signature[index]!)).toString('base64');
    return Buffer.from(`${last},p=${proof}`);
  }

  return {
    async answer(kind, body) {
      switch (kind) {
        case 0:
          return null;
        case 3:
          return cstring(password);
        case 5: {
          const md5 = (text: string | Buffer): string => createHash('md5').update(text).digest('hex');
          return cstring(`md5${md5(Buffer.concat([Buffer.from(md5(password + user)), body]))}`);
        }
        case 10: {
          if (!body.toString('latin1').split('\0').includes(mechanism)) throw new Error(`The database does not offer ${mechanism}`);
          const message = Buffer.from(`n,,${first}`);
          const length = Buffer.alloc(4);
          length.writeInt32BE(message.byteLength);
          return Buffer.concat([cstring(mechanism), length, message]);
        }
        case 11:
          return prove(body.toString());
        case 12: {
          const given = Buffer.from(/(?:^|,)v=([^,]+)/.exec(body.toString())?.[1] ?? '', 'base64');
          if (serverSignature === null || given.byteLength !== 32 || !timingSafeEqual(given, serverSignature))
            throw new Error('The database does not know the password that it asked for');
          return null;
        }
        default:
          throw new Error(`The database asks for a way to sign in that is not supported (${kind})`);
      }
    },
  };
}

function cstring(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
