// Verifies the signatures of authenticators (WebAuthn), without decisions about accounts. Only this file uses the
// library. The library is loaded on demand, because loading takes 0.2 s of CPU and most processes never need it.
import { isSame } from '../access/secrets.ts';
import type { Dependencies } from '../process/dependencies.ts';
import type { HeldPasskey, NewPasskey } from '../records/passkeys.ts';

/** Response of a browser with a new passkey. All values are base64url. */
interface Attestation {
  readonly id: string;
  readonly clientDataJSON: string;
  readonly attestationObject: string;
}

/** Response of a browser to a sign-in. */
interface Assertion {
  readonly id: string;
  readonly clientDataJSON: string;
  readonly authenticatorData: string;
  readonly signature: string;
  readonly userHandle: string;
}

/** Expected origin and challenge of the signature. */
interface Expected extends Pick<Dependencies, 'addresses' | 'log'> {
  readonly challenge: string;
  readonly rpId: string;
}

/** COSE: ES256, EdDSA, RS256. */
export const PASSKEY_ALGORITHMS = [-7, -8, -257];
const REASON_CHARS_MAX = 200;

/** The passkey that was created for a challenge; null if refused. */
export function verifyNewPasskey(expected: Expected, { id, ...given }: Attestation): Promise<NewPasskey | null> {
  return orRefused(expected, async () => {
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    checkFrame(given.clientDataJSON);
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        response: { ...given, attestationObject: await withoutStatement(given.attestationObject) },
        clientExtensionResults: {},
      },
      ...against(expected),
      supportedAlgorithmIDs: PASSKEY_ALGORITHMS,
    });
    if (!verified) return null;
    const { credential } = registrationInfo;
    if (credential.id !== id) throw new Error('The response names another credential');
    return {
      credentialId: Buffer.from(id, 'base64url'),
      publicKey: Buffer.from(credential.publicKey),
      counter: credential.counter,
    };
  });
}

/** The counter of the authenticator after a sign-in; null if refused. */
export function verifyPasskey(
  expected: Expected,
  passkey: HeldPasskey,
  { id, userHandle, ...given }: Assertion,
): Promise<number | null> {
  return orRefused(expected, async () => {
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    if (!isSame(userHandle, passkey.user.toString('base64url')))
      throw new Error('The user handle belongs to another account');
    checkFrame(given.clientDataJSON);
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { id, rawId: id, type: 'public-key', response: given, clientExtensionResults: {} },
      ...against(expected),
      credential: { id, publicKey: new Uint8Array(passkey.publicKey), counter: passkey.counter },
    });
    return verified ? authenticationInfo.newCounter : null;
  });
}

/** The challenge in the browser's response; null if it has none. */
export function challengeOf(clientDataJSON: string): string | null {
  try {
    const { challenge } = parse(clientDataJSON);
    return typeof challenge === 'string' && /^[\w-]{43}$/.test(challenge) ? challenge : null;
  } catch {
    return null;
  }
}

function against({ addresses: { ui }, challenge, rpId }: Expected) {
  return { expectedChallenge: challenge, expectedOrigin: ui, expectedRPID: rpId, requireUserVerification: true };
}

function parse(clientDataJSON: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString()) as Record<string, unknown>;
}

/**
 * Refuses a response from a frame of another site, where our pages are never shown. The library does not refuse all
 * such responses.
 */
function checkFrame(clientDataJSON: string): void {
  const { crossOrigin = false } = parse(clientDataJSON);
  if (crossOrigin !== false) throw new Error('The response was signed in a frame of another site');
}

/**
 * Removes the attestation statement. The platform does not request or trust attestation. For a statement with
 * certificates, the library would fetch the revocation lists that they name.
 */
async function withoutStatement(attestationObject: string): Promise<string> {
  const { decodeAttestationObject, isoCBOR } = await import('@simplewebauthn/server/helpers');
  const authData = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url'))).get('authData');
  if (!(authData instanceof Uint8Array)) throw new Error('The response has no authenticator data');
  const plain = new Map<string, string | Uint8Array | Map<string, string>>([
    ['fmt', 'none'],
    ['attStmt', new Map<string, string>()],
    ['authData', authData],
  ]);
  return Buffer.from(isoCBOR.encode(plain)).toString('base64url');
}

/** Errors of the library mean that the response is refused. */
async function orRefused<Result>({ log }: Expected, verify: () => Promise<Result | null>): Promise<Result | null> {
  let reason = 'the signature is wrong';
  try {
    const result = await verify();
    if (result !== null) return result;
  } catch (error) {
    reason = String(error instanceof Error ? error.message : error).slice(0, REASON_CHARS_MAX);
  }
  log.warn({ reason }, 'A passkey was refused');
  return null;
}
