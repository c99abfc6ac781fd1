// Audit log entries of sign-in: accounts and tokens that were added or removed.
import type { Sql, Transaction } from '#postgres/sql.ts';
import { writeAudit } from '../records/audit.ts';
import type { TakenLink } from '../records/members.ts';

type Action =
  | 'account.sign_in'
  | 'account.identity_add'
  | 'account.oidc_sign_in'
  | 'account.oidc_add'
  | 'account.oidc_remove'
  | 'account.token_sign_in'
  | 'account.password_sign_in'
  | 'account.password_set'
  | 'account.email_set'
  | 'account.passkey_sign_in'
  | 'account.passkey_add'
  | 'account.passkey_remove'
  | 'account.second_factor_add'
  | 'account.second_factor_remove'
  | 'account.recovery_code_use'
  | 'token.create'
  | 'token.revoke';

/** @param tokenId the token concerned. */
export async function recordSignIn(
  sql: Sql | Transaction,
  accountId: string,
  action: Action,
  tokenId: string | null = null,
): Promise<void> {
  await writeAudit(sql, sourceOf(accountId), {
    organizationId: null,
    action,
    subjectKind: tokenId === null ? 'account' : 'token',
    subjectId: tokenId ?? accountId,
  });
}

/** Records that an account joined an organization by a link. */
export async function recordJoin(
  tx: Transaction,
  accountId: string,
  { organizationId, role }: TakenLink,
): Promise<void> {
  const subject = { subjectKind: 'account', subjectId: accountId };
  await writeAudit(tx, sourceOf(accountId), { organizationId, action: 'member.join', ...subject, details: { role } });
}

function sourceOf(accountId: string) {
  const actor = { accountId, isOperator: false, token: null, sessionId: null, endsWith: null, memberships: {} };
  return { actor, address: null, requestId: null };
}
