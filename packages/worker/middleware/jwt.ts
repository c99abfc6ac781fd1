// Verifies JSON Web Tokens with the Web Crypto API: signature by an algorithm that was chosen beforehand, times,
// issuer, audience. The token never chooses: `none` and a public key used as a shared secret find no key here.
import type { SubtleKey } from '../web-types.ts';

/** What is known of a token after it was verified. */
export type JwtClaims = Readonly<Record<string, unknown>> & { readonly sub?: string; readonly exp?: number };

/** How tokens are verified. */
export interface JwtOptions {
  /** Shared secret of HS256, 32 bytes or more; a function may read it from `env`. */
  readonly secret?: string | ((env: never) => string);
  /** Address of a JSON Web Key Set with RS256, ES256 or EdDSA keys. Kept for ten minutes. */
  readonly jwks?: string;
  /** Accepted `iss`. */
  readonly issuer?: string | readonly string[];
  /** Accepted `aud`. */
  readonly audience?: string | readonly string[];
  /** Seconds that clocks may differ; 30 by default. */
  readonly toleranceSeconds?: number;
}

interface Key {
  readonly kty?: string;
  readonly kid?: string;
  readonly alg?: string;
  readonly use?: string;
}

interface Algorithm {
  readonly kty: string;
  readonly import: { readonly name: string; readonly hash?: string; readonly namedCurve?: string };
  readonly verify: { readonly name: string; readonly hash?: string };
}

const algorithms: Readonly<Record<string, Algorithm>> = {
  RS256: { kty: 'RSA', import: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, verify: { name: 'RSASSA-PKCS1-v1_5' } },
  ES256: { kty: 'EC', import: { name: 'ECDSA', namedCurve: 'P-256' }, verify: { name: 'ECDSA', hash: 'SHA-256' } },
  EdDSA: { kty: 'OKP', import: { name: 'Ed25519' }, verify: { name: 'Ed25519' } },
};
const keepKeysMs = 10 * 60_000;
/** A key that is not known is looked for again at most this often. */
const refetchMs = 30_000;
const keySetBytesMax = 256 * 1024;

/** Verifies tokens; keys are kept between calls. */
export interface JwtVerifier {
  /** The claims; null when the token is not good, whatever the reason. @throws when the key set cannot be had. */
  verify(token: string, env: unknown): Promise<JwtClaims | null>;
}

/** Makes a verifier. @throws TypeError when neither a secret nor a key set is given. */
export function createJwtVerifier(options: JwtOptions): JwtVerifier {
  if ((options.secret === undefined) === (options.jwks === undefined))
    throw new TypeError('auth: bearer needs either a secret or a jwks address');
  const keySet = options.jwks === undefined ? null : createKeySet(options.jwks);
  let kept: { secret: string; key: Promise<SubtleKey> } | null = null;
  const secretKey = (env: unknown): Promise<SubtleKey> => {
    const secret = typeof options.secret === 'function' ? options.secret(env as never) : options.secret!;
    if (kept?.secret !== secret) kept = { secret, key: importSecret(secret) };
    return kept!.key;
  };
  return {
    async verify(token, env) {
      const parts = token.length > 16_384 ? [] : token.split('.');
      if (parts.length !== 3) return null;
      const [header, claims] = [decodeJson(parts[0]!), decodeJson(parts[1]!)];
      const signature = decodeBytes(parts[2]!);
      if (header === null || claims === null || signature === null || header['crit'] !== undefined) return null;
      const signed = new TextEncoder().encode(`${parts[0]}.${parts[1]}`);
      const { alg, kid } = header;
      if (keySet === null) {
        if (alg !== 'HS256' || !(await crypto.subtle.verify('HMAC', await secretKey(env), signature, signed)))
          return null;
      } else {
        const rule = typeof alg === 'string' && Object.hasOwn(algorithms, alg) ? algorithms[alg] : undefined;
        const key = rule === undefined ? null : await keySet.find(alg as string, typeof kid === 'string' ? kid : null);
        if (key === null || !(await crypto.subtle.verify(rule!.verify, key, signature, signed))) return null;
      }
      return isTimely(claims, options) && isFor(claims, options) ? (claims as JwtClaims) : null;
    },
  };
}

function importSecret(secret: string): Promise<SubtleKey> {
  const bytes = new TextEncoder().encode(secret);
  if (bytes.length < 32) throw new TypeError('auth: the secret of bearer tokens has 32 bytes or more');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function isTimely(claims: Record<string, unknown>, { toleranceSeconds = 30 }: JwtOptions): boolean {
  const now = Date.now() / 1000;
  const { exp, nbf, iat } = claims;
  for (const time of [exp, nbf, iat]) if (time !== undefined && typeof time !== 'number') return false;
  if (exp !== undefined && now >= (exp as number) + toleranceSeconds) return false;
  return nbf === undefined || now >= (nbf as number) - toleranceSeconds;
}

function isFor(claims: Record<string, unknown>, { issuer, audience }: JwtOptions): boolean {
  const accepts = (wanted: string | readonly string[] | undefined, given: unknown): boolean => {
    if (wanted === undefined) return true;
    const values = Array.isArray(given) ? given : [given];
    return values.some((value) => (typeof wanted === 'string' ? wanted === value : wanted.includes(value as string)));
  };
  return accepts(issuer, claims['iss']) && accepts(audience, claims['aud']);
}

function createKeySet(address: string): { find(alg: string, kid: string | null): Promise<SubtleKey | null> } {
  let keys: readonly Key[] = [];
  let fetchedAt = 0;
  let loading: Promise<void> | null = null;
  const imported = new Map<string, Promise<SubtleKey>>();
  const load = async (): Promise<void> => {
    const response = await fetch(address, { headers: { accept: 'application/json' }, redirect: 'error' });
    const text = response.ok ? await response.text() : '';
    if (!response.ok || text.length > keySetBytesMax) throw new Error(`auth: the key set answers ${response.status}`);
    const list = (JSON.parse(text) as { keys?: Key[] }).keys;
    keys = Array.isArray(list) ? list : [];
    fetchedAt = Date.now();
    imported.clear();
  };
  const pick = (alg: string, kid: string | null): Key | undefined => {
    const fitting = keys.filter(
      (key) => key.kty === algorithms[alg]!.kty && (key.alg ?? alg) === alg && (key.use ?? 'sig') === 'sig',
    );
    return kid === null ? (fitting.length === 1 ? fitting[0] : undefined) : fitting.find((key) => key.kid === kid);
  };
  return {
    async find(alg, kid) {
      const age = Date.now() - fetchedAt;
      if (age > keepKeysMs || (pick(alg, kid) === undefined && age > refetchMs))
        await (loading ??= load().finally(() => (loading = null)));
      const key = pick(alg, kid);
      if (key === undefined) return null;
      const name = `${alg} ${kid ?? ''}`;
      let made = imported.get(name);
      if (made === undefined)
        imported.set(
          name,
          (made = crypto.subtle.importKey('jwk', key as never, algorithms[alg]!.import, false, ['verify'])),
        );
      return made;
    },
  };
}

function decodeBytes(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[\w-]+$/.test(text)) return null;
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
      character.charCodeAt(0),
    );
  } catch {
    return null;
  }
}

function decodeJson(text: string): Record<string, unknown> | null {
  const bytes = decodeBytes(text);
  if (bytes === null) return null;
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
