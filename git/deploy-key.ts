// Deploy keys: generates an ed25519 key pair in the format of OpenSSH, and reads the fingerprints of known hosts. The
// public half is for people to add to the host, the private half is stored encrypted. Pure.
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';

const KIND = 'ssh-ed25519';
const LINE_CHARS = 70;

/** A key pair. */
interface DeployKey {
  /** One line, in the format `ssh-ed25519 AAAA... name`. */
  readonly publicKey: string;
  /** Without a passphrase. */
  readonly privateKey: string;
}

/** Generates a key pair. @param name the comment of the key; letters, digits, `.`, `-` and `@`. */
export function newDeployKey(name: string): DeployKey {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [seed, point] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')];
  const blob = Buffer.concat([text(KIND), bytes(point)]);
  const check = randomBytes(4);
  const inner = Buffer.concat([
    check,
    check,
    text(KIND),
    bytes(point),
    bytes(Buffer.concat([seed, point])),
    text(name),
  ]);
  const padding = Buffer.from(Array.from({ length: (8 - (inner.length % 8)) % 8 }, (_, index) => index + 1));
  const one = Buffer.alloc(4);
  one.writeUInt32BE(1);
  const all = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    text('none'),
    text('none'),
    text(''),
    one,
    bytes(blob),
    bytes(Buffer.concat([inner, padding])),
  ]);
  const lines = all.toString('base64').match(new RegExp(`.{1,${LINE_CHARS}}`, 'g'))!;
  return {
    publicKey: `${KIND} ${blob.toString('base64')} ${name}`,
    privateKey: `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`,
  };
}

/** The keys in lines of `known_hosts`, as ssh shows them: `ssh-ed25519 SHA256:...`. */
export function hostKeyFingerprints(knownHosts: string): string[] {
  return knownHosts.split('\n').flatMap((line) => {
    const [, kind, key] = /^(?:@\S+\s+)?\S+\s+([a-z0-9@.-]+)\s+([A-Za-z0-9+/]+=*)/.exec(line) ?? [];
    if (kind === undefined || key === undefined) return [];
    const hash = createHash('sha256').update(Buffer.from(key, 'base64')).digest('base64').replace(/=+$/, '');
    return [`${kind} SHA256:${hash}`];
  });
}

function bytes(content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
}

function text(content: string): Buffer {
  return bytes(Buffer.from(content));
}
