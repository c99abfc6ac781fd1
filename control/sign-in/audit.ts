// Audit log entries of sign-in: accounts and tokens that were added or removed.
import type { Sql, Transaction } from '#postgres/sql.ts';
import { writeAudit } from '../records/audit.ts';

type Action = 'account.sign_in' | 'account.identity_add' | 'account.token_sign_in' | 'token.create' | 'token.revoke';

/** @param tokenId the token concerned. */
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
