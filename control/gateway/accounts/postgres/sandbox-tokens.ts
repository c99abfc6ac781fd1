// Tokens of sandboxes: for an hour, and another one before that is over. For the sandbox service, in its transactions.
import type { Statements } from '#postgres/connection.ts';
import type { Caller } from '../../contract.ts';
import { hashOf } from '../token.ts';
import { issueToken } from './tokens.ts';

const LIFE_MS = 3_600_000;
/** What runs in the sandbox reads the new one from a file. */
const OVERLAP_MS = 60_000;

/** Whose sandbox it is. */
export type SandboxOwner = Pick<Caller, 'organizationId' | 'projectId' | 'branch' | 'runId'>;

export interface SandboxToken {
  readonly token: string;
  /** ms since 1970. */
  readonly expiresAt: number;
}

/** @param at ms since 1970. */
export async function issueSandboxToken(sql: Statements, owner: SandboxOwner, at: number): Promise<SandboxToken> {
  const expiresAt = at + LIFE_MS;
  const { token } = await issueToken(sql, { ...owner, kind: 'sandbox', deploymentId: null }, expiresAt);
  return { token, expiresAt };
}

/** Another token in the place of this one, which lives a minute longer. @returns null: it is over, or was revoked. */
export async function rotateSandboxToken(sql: Statements, token: string, at: number): Promise<SandboxToken | null> {
  const [owner] = await sql.all<SandboxOwner>(
    `UPDATE control.ai_token SET expires_at = least(expires_at, to_timestamp($2::double precision / 1000))
     WHERE hash = $1 AND kind = 'sandbox' AND expires_at > to_timestamp($3::double precision / 1000)
     RETURNING organization_id AS "organizationId", project_id AS "projectId", branch, run_id AS "runId"`,
    hashOf(token),
    at + OVERLAP_MS,
    at,
  );
  return owner === undefined ? null : issueSandboxToken(sql, owner, at);
}

/** The sandbox is gone. */
export async function revokeSandboxToken(sql: Statements, token: string): Promise<void> {
  await sql.all(`DELETE FROM control.ai_token WHERE hash = $1 AND kind = 'sandbox'`, hashOf(token));
}
