// Finds the account of a person from the Git host: the account with their identity, the account to which they are
// linking it, or a new account if they were invited or SIGN_UP is open. Signing in never makes anyone an operator.
import { seal } from '#core/encryption.ts';
import type { Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { newId } from '../records/ids.ts';
import { joinByLink, takeLink } from '../records/members.ts';
import { recordJoin, recordSignIn } from './audit.ts';
import type { GitHostPerson, GitHostToken } from './git-host-oauth.ts';
import { GIT_HOST, tokenContext } from './git-host-token.ts';

/** The account, or the reason for refusal. */
type Admission = { readonly accountId: string } | { readonly refused: 'not_invited' | 'belongs_to_another_account' };

/** Data of a person at a sign-in. */
interface Claims {
  /** The account that was signed in when the sign-in began, to which this identity is added; or null. */
  readonly linkTo: string | null;
  /** Hash of an invitation link. */
  readonly invitation: Buffer | null;
}

/**
 * Admits or refuses a person. Accepts the invitation of an invitation link, and pending invitations for their login.
 */
export async function admit(
  { sql, keys, signIn }: Pick<Dependencies, 'sql' | 'keys' | 'signIn'>,
  person: GitHostPerson,
  token: GitHostToken,
  { linkTo, invitation }: Claims,
): Promise<Admission> {
  return sql.begin(async (tx) => {
    // Serializes concurrent sign-ins of one person.
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`identity:${person.subject}`}, 0))`;
    const [known] = await tx<{ account_id: string }[]>`
      SELECT account_id FROM control.identity WHERE provider = ${GIT_HOST} AND subject = ${person.subject}`;
    if (known !== undefined && linkTo !== null && known.account_id !== linkTo)
      return { refused: 'belongs_to_another_account' } as const;
    let accountId = known?.account_id ?? linkTo;
    const link = invitation === null ? null : await takeLink(tx, invitation, accountId);
    if (accountId === null) {
      if (signIn.signUp !== 'open' && link === null && !(await isInvited(tx, person.login)))
        return { refused: 'not_invited' } as const;
      accountId = newId('account');
      await tx`
        INSERT INTO control.account (id, login, name, email, avatar_url)
        VALUES (${accountId}, ${person.login}, ${person.name}, ${person.email}, ${person.avatarUrl})`;
    }
    const sealed = seal(keys, JSON.stringify(token), tokenContext(GIT_HOST, person.subject));
    await tx`
      INSERT INTO control.identity (provider, subject, account_id, login, access_token)
      VALUES (${GIT_HOST}, ${person.subject}, ${accountId}, ${person.login}, ${sealed})
      ON CONFLICT (provider, subject) DO UPDATE SET login = excluded.login, access_token = excluded.access_token`;
    await tx`
      UPDATE control.account SET signed_in_at = now(), avatar_url = coalesce(${person.avatarUrl}, avatar_url)
      WHERE id = ${accountId}`;
    if (link !== null) {
      await joinByLink(tx, link, accountId);
      await recordJoin(tx, accountId, link);
    }
    await takeInvitations(tx, accountId, person.login);
    await recordSignIn(tx, accountId, known === undefined ? 'account.identity_add' : 'account.sign_in');
    return { accountId };
  });
}

async function isInvited(tx: Transaction, login: string): Promise<boolean> {
  const [found] = await tx`
    SELECT 1 FROM control.invitation WHERE lower(login) = lower(${login}) AND expires_at > now() LIMIT 1`;
  return found !== undefined;
}

/** Members keep their existing roles. */
async function takeInvitations(tx: Transaction, accountId: string, login: string): Promise<void> {
  await tx`
    WITH taken AS (
      DELETE FROM control.invitation WHERE lower(login) = lower(${login}) AND expires_at > now()
      RETURNING organization_id, role)
    INSERT INTO control.membership (organization_id, account_id, role)
    SELECT DISTINCT ON (organization_id) organization_id, ${accountId}, role FROM taken
    ON CONFLICT (organization_id, account_id) DO NOTHING`;
}
