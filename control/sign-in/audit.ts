// What sign-in writes into the audit log: people and tokens that came or went.
import type { Sql, Transaction } from '#postgres/sql.ts';
import { writeAudit } from '../records/audit.ts';

type Action = 'account.sign_in' | 'account.identity_add' | 'account.token_sign_in' | 'token.create' | 'token.revoke';

/** @param tokenId of the token that it is about. */
export async function recordSignIn(
  sql: Sql | Transaction,
  accountId: string,
  action: Action,
  tokenId: string | null = null,
): Promise<void> {
  const actor = { accountId, isOperator: false, token: null, endsWith: null, memberships: {} };
  await writeAudit(
    sql,
    { actor, address: null, requestId: null },
    {
      organizationId: null,
      action,
      subjectKind: tokenId === null ? 'account' : 'token',
      subjectId: tokenId ?? accountId,
    },
  );
}
