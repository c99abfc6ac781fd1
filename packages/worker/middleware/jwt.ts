// Verifies JSON Web Tokens with jose: signature by a fixed algorithm, times, issuer, audience. The token never
// chooses: `none` and a public key used as a shared secret are refused.
import { createRemoteJWKSet, customFetch, errors, jwtVerify, type FetchImplementation } from 'jose';
import type { SubtleKey } from '../web-types.ts';

/** Claims of a verified token. */
export type JwtClaims = Readonly<Record<string, unknown>> & { readonly sub?: string; readonly exp?: number };

/** Options of verification. */
export interface JwtOptions {
  /** Shared secret of HS256, 32 bytes or more; a function may read it from `env`. */
  readonly secret?: string | ((env: never) => string);
  /** URL of a JSON Web Key Set with RS256, ES256 or EdDSA keys. Cached for ten minutes. */
  readonly jwks?: string;
  /** Accepted `iss`. */
  readonly issuer?: string | readonly string[];
  /** Accepted `aud`. */
  readonly audience?: string | readonly string[];
  /** Tolerated clock difference in seconds; 30 by default. */
  readonly toleranceSeconds?: number;
}

const KEEP_KEYS_MS = 10 * 60_000;
/** Minimum interval of searching for an unknown key. */
const REFETCH_MS = 30_000;
const KEY_SET_LENGTH_MAX = 256 * 1024;
const TOKEN_LENGTH_MAX = 16_384;
const SECRET_BYTES_MIN = 32;

/** Errors of jose that do not concern the token: the key set is not available. */
const KEY_SET_FAILURES: ReadonlySet<string> = new Set([
  errors.JOSEError.code,
  errors.JWKSInvalid.code,
  errors.JWKSTimeout.code,
]);

/** Verifies tokens; keys are cached between calls. */
interface JwtVerifier {
  /** The claims; null for an invalid token, whatever the reason. @throws if the key set is not available. */
  verify(token: string, env: unknown): Promise<JwtClaims | null>;
}

/** Creates a verifier. @throws TypeError without a secret and a key set. */
export function createJwtVerifier(options: JwtOptions): JwtVerifier {
  const { secret, jwks, issuer, audience, toleranceSeconds = 30 } = options;
  if ((secret === undefined) === (jwks === undefined))
    throw new TypeError('auth: bearer needs either a secret or a jwks address');
  const rules = {
    algorithms: jwks === undefined ? ['HS256'] : ['RS256', 'ES256', 'EdDSA'],
    clockTolerance: toleranceSeconds,
    ...(issuer === undefined ? {} : { issuer: [issuer].flat() as string[] }),
    ...(audience === undefined ? {} : { audience: [audience].flat() as string[] }),
  };
  const keyOf = jwks === undefined ? secretKeys(secret!) : keySet(jwks);
  return {
    async verify(token, env) {
      if (token.length > TOKEN_LENGTH_MAX) return null;
      try {
        return (await jwtVerify(token, keyOf(env), rules)).payload as JwtClaims;
      } catch (error) {
        if (error instanceof errors.JOSEError && !KEY_SET_FAILURES.has(error.code)) return null;
        throw error;
      }
    },
  };
}

type KeySource = (env: unknown) => () => Promise<SubtleKey>;

/** The imported key of the secret. */
function secretKeys(secret: NonNullable<JwtOptions['secret']>): KeySource {
  let kept: { secret: string; key: Promise<SubtleKey> } | null = null;
  return (env) => () => {
    const text = typeof secret === 'function' ? secret(env as never) : secret;
    if (kept?.secret !== text) kept = { secret: text, key: importSecret(text) };
    return kept.key;
  };
}

async function importSecret(secret: string): Promise<SubtleKey> {
  const bytes = new TextEncoder().encode(secret);
  if (bytes.length < SECRET_BYTES_MIN)
    throw new TypeError(`auth: the secret of bearer tokens has ${SECRET_BYTES_MIN} bytes or more`);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function keySet(address: string): KeySource {
  const find = createRemoteJWKSet(new URL(address), {
    cacheMaxAge: KEEP_KEYS_MS,
    cooldownDuration: REFETCH_MS,
    [customFetch]: fetchKeySet,
  });
  return () => find;
}

const fetchKeySet: FetchImplementation = async (address, options) => {
  const response = await fetch(address, options);
  const text = response.ok ? await response.text() : '';
  if (!response.ok || text.length > KEY_SET_LENGTH_MAX)
    throw new Error(`auth: the key set answers ${response.status} with ${text.length} characters`);
  return new Response(text);
};
