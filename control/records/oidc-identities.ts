// Identities of accounts at the OpenID Connect provider: control.oidc_identity. sign-in/oidc-accounts.ts writes them.
import type { Sql, Transaction } from '#postgres/sql.ts';

/** The name of an account at the provider; null if it is not linked. */
export async function oidcLoginOf(sql: Sql | Transaction, accountId: string, issuer: string): Promise<string | null> {
  const [row] = await sql<{ shown: string }[]>`
    SELECT coalesce(username, email, name, subject) AS shown FROM control.oidc_identity
    WHERE account_id = ${accountId} AND issuer = ${issuer}`;
  return row?.shown ?? null;
}
