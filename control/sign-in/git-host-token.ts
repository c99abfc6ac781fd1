// The Git host's tokens of people, encrypted in control.identity: they prove which installations somebody may use.
import { seal, unseal } from '#core/encryption.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { refreshToken, type GitHostToken } from './git-host-oauth.ts';

/** Identities have this as their provider: there is one Git host. */
export const GIT_HOST = 'git-host';

const SOON_MS = 60_000;

/** What a sealed token belongs to. */
export function tokenContext(provider: string, subject: string): string {
  return `identity:${provider}:${subject}`;
}

/**
 * An access token of an account for the Git host's API, refreshed where it is about to expire.
 *
 * @returns null when the account has never signed in there.
 * @throws {SignInRefused} when it has expired and the host gives no other: the person has to sign in again.
 */
export async function gitHostTokenOf(
  { sql, keys, signIn }: Pick<Dependencies, 'sql' | 'keys' | 'signIn'>,
  accountId: string,
): Promise<string | null> {
  return sql.begin(async (tx) => {
    // A refresh token is good for once: others wait for what this one gets.
    const [row] = await tx<{ provider: string; subject: string; access_token: Buffer | null }[]>`
      SELECT provider, subject, access_token FROM control.identity
      WHERE account_id = ${accountId} AND access_token IS NOT NULL ORDER BY subject LIMIT 1 FOR UPDATE`;
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
