// The options with which a browser creates a passkey. Pure.
import type { Passkey } from '../records/passkeys.ts';
import { CHALLENGE_SECONDS } from './passkey-challenges.ts';
import { PASSKEY_ALGORITHMS } from './passkey-verification.ts';

/** The account for which a passkey is created. */
interface Creation {
  readonly challenge: string;
  readonly rpId: string;
  /** The account's id at authenticators. */
  readonly user: Buffer;
  readonly login: string;
  /** Passkeys that the account has: their authenticators do not create a second passkey. */
  readonly known: readonly Pick<Passkey, 'credential_id'>[];
}

/** Options of `navigator.credentials.create`, as JSON. */
export function creationOptions({ challenge, rpId, user, login, known }: Creation) {
  return {
    challenge,
    rp: { id: rpId, name: rpId },
    user: { id: user.toString('base64url'), name: login, displayName: login },
    pubKeyCredParams: PASSKEY_ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    // The passkey must work without a username, and require a fingerprint, face or PIN.
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
    excludeCredentials: known.map(({ credential_id }) => ({
      type: 'public-key',
      id: credential_id.toString('base64url'),
    })),
    timeout: CHALLENGE_SECONDS * 1000,
  };
}
