// People's tokens for the Git host, encrypted in control.identity: they prove which installations a person may use.
import { seal, unseal } from '#core/encryption.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { refreshToken, type GitHostToken } from './git-host-oauth.ts';

/** Provider of all identities, because there is one Git host. */
export const GIT_HOST = 'git-host';

const SOON_MS = 60_000;

/** Encryption context of a token. */
export function tokenContext(provider: string, subject: string): string {
  return `identity:${provider}:${subject}`;
}

/**
 * An account's access token for the Git host's API, refreshed if it is about to expire.
 *
 * @returns null if the account has never signed in there. @throws {Failure} `sign_in_refused` if the token has expired
 * and cannot be refreshed: the person has to sign in again.
 */
export async function gitHostTokenOf(
  { sql, keys, signIn }: Pick<Dependencies, 'sql' | 'keys' | 'signIn'>,
  accountId: string,
): Promise<string | null> {
  return sql.begin(async (tx) => {
    const { realm } = signIn.gitHost;
    // A refresh token can be used once, so concurrent callers wait for the result.
    const [row] = await tx<{ provider: string; subject: string; access_token: Buffer | null }[]>`
      SELECT provider, subject, access_token FROM control.identity
      WHERE account_id = ${accountId} AND access_token IS NOT NULL
        AND ${realm === undefined ? tx`position(' ' in subject) = 0` : tx`starts_with(subject, ${`${realm} `})`}
      ORDER BY subject LIMIT 1 FOR UPDATE`;
    if (row === undefined || row.access_token === null) return null;
    const context = tokenContext(row.provider, row.subject);
    const token = JSON.parse(unseal(keys, row.access_token, context)) as GitHostToken;
    const isOver = token.expiresAt !== null && Date.parse(token.expiresAt) - SOON_MS < Date.now();
    if (!isOver || token.refreshToken === null) return token.accessToken;
    const next = await refreshToken(signIn.gitHost, token.refreshToken);
    await tx`
      UPDATE control.identity SET access_token = ${seal(keys, JSON.stringify(next), context)}
      WHERE provider = ${row.provider} AND subject = ${row.subject}`;
    return next.accessToken;
  });
}
