// Finds the account of a person from the OpenID Connect provider: the account with their identity, the account to which
// they are linking it, or a new account if they were invited, one of their groups has a role, or SIGN_UP is open.
// Accounts are never found by email address, because a provider or a person at the provider could name anyone's
// address.
import type { Transaction } from '#postgres/sql.ts';
import type { OidcPerson } from '../access/oidc/provider.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { newId } from '../records/ids.ts';
import { joinByLink, takeLink } from '../records/members.ts';
import { holdUsername } from '../records/passwords.ts';
import { recordJoin, recordSignIn } from './audit.ts';
import { applyGroups, holdOrganizations } from './oidc-groups.ts';

/** The account, or the code of the sign-in page's message. */
type Admission = { readonly accountId: string } | { readonly refused: string };

/** Data of a person at a sign-in. */
interface Claims {
  /** The account that was signed in when the sign-in began, to which this identity is added; or null. */
  readonly linkTo: string | null;
  /** Hash of an invitation link. */
  readonly invitation: Buffer | null;
}

/** Claims of an identity at its last sign-in. */
interface Known {
  readonly account_id: string;
  readonly username: string | null;
  readonly name: string | null;
  readonly email: string | null;
}

/** Admits or refuses a person; accepts the invitation of a link, and applies groups. */
export async function admitFromProvider(
  env: Pick<Dependencies, 'sql' | 'signIn' | 'limits' | 'log'>,
  person: OidcPerson,
  { linkTo, invitation }: Claims,
): Promise<Admission> {
  const { issuer, subject } = person;
  const { domains = [], groups = [] } = env.signIn.oidc?.settings ?? {};
  if (domains.length > 0 && !isOfDomain(person, domains)) return { refused: 'oidc_domain' };
  return env.sql.begin(async (tx): Promise<Admission> => {
    // Serializes concurrent sign-ins of one person.
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`oidc:${issuer}\n${subject}`}, 0))`;
    const [known] = await tx<Known[]>`
      SELECT account_id, username, name, email FROM control.oidc_identity
      WHERE issuer = ${issuer} AND subject = ${subject} FOR UPDATE`;
    if (known !== undefined && linkTo !== null && known.account_id !== linkTo) return { refused: 'oidc_taken' };
    if (known !== undefined && isSomebodyElse(known, person)) return { refused: 'oidc_somebody_else' };
    let accountId = known?.account_id ?? linkTo;
    // This comes before organizations are locked, in the same order as when an account with a password is created.
    const login = accountId === null ? await freeLogin(tx, person) : '';
    const roles = await holdOrganizations(env, tx, person, { accountId, invitation });
    if (known === undefined && linkTo !== null && (await isLinked(tx, linkTo, issuer)))
      return { refused: 'oidc_second' };
    const link = invitation === null ? null : await takeLink(tx, invitation, accountId);
    if (accountId === null) {
      if (env.signIn.signUp !== 'open' && link === null && roles.size === 0) return { refused: 'oidc_unknown' };
      accountId = newId('account');
      await tx`
        INSERT INTO control.account (id, login, name, email, avatar_url)
        VALUES (${accountId}, ${login}, ${person.name}, ${person.email}, ${person.avatarUrl})`;
    }
    await tx`
      INSERT INTO control.oidc_identity (issuer, subject, account_id, username, name, email)
      VALUES (${issuer}, ${subject}, ${accountId}, ${person.username}, ${person.name || null}, ${person.email})
      ON CONFLICT (issuer, subject) DO UPDATE
        SET username = excluded.username, name = excluded.name, email = excluded.email`;
    await tx`UPDATE control.account SET signed_in_at = now() WHERE id = ${accountId}`;
    if (link !== null) {
      await joinByLink(tx, link, accountId);
      await recordJoin(tx, accountId, link);
    }
    // If no rules for groups are set, memberships from earlier rules stay.
    if (groups.length > 0) await applyGroups(env, tx, accountId, roles);
    await recordSignIn(tx, accountId, known === undefined ? 'account.oidc_add' : 'account.oidc_sign_in');
    return { accountId };
  });
}

function isOfDomain({ email, isEmailVerified }: OidcPerson, domains: readonly string[]): boolean {
  return email !== null && isEmailVerified && domains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase());
}

/**
 * Whether a provider seems to send one subject for two people, which happens if the attribute is not unique: at least
 * two of username, name and address are known for both, and none of them is the same.
 */
function isSomebodyElse(known: Known, { username, name, email }: OidcPerson): boolean {
  const pairs = [
    [known.username, username],
    [known.name, name || null],
    [known.email, email],
  ].filter((pair): pair is [string, string] => pair.every((value) => value !== null));
  return pairs.length >= 2 && pairs.every(([before, after]) => before.toLowerCase() !== after.toLowerCase());
}

/** Whether an account has another identity of this provider. Locks the account. */
async function isLinked(tx: Transaction, accountId: string, issuer: string): Promise<boolean> {
  await tx`SELECT 1 FROM control.account WHERE id = ${accountId} FOR UPDATE`;
  return (
    (await tx`SELECT 1 FROM control.oidc_identity WHERE account_id = ${accountId} AND issuer = ${issuer}`).length > 0
  );
}

/** A login that no other account has, so that nobody can impersonate another account by a name at the provider. */
async function freeLogin(tx: Transaction, { username, email }: OidcPerson): Promise<string> {
  const wanted = (username ?? email ?? '')
    .replace(/@.*$/, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
    .slice(0, 80);
  const login = wanted === '' ? 'user' : wanted;
  if (await holdUsername(tx, login, null)) return login;
  return `${login}-${newId('account').slice(-8)}`;
}
