// Tokens in Postgres, stored as hashes. Gateways cache tokens briefly; revocations are announced to them.
import type { Statements } from '#postgres/connection.ts';
import { hashOf, newToken, newTokenId, ownerOf } from '#core/ai-token.ts';
import type { AiCallerKind } from '#core/ai-caller.ts';
import type { Plan } from '#core/plans.ts';
import type { Caller } from '../../contract/contract.ts';
import type { SetLimit, TokenRegistry } from '../accounts.ts';
import { createRemembered } from './remembered.ts';

const REMEMBERED_MS = 30_000;
const REMEMBERED_MAX = 10_000;
/** Unknown tokens have a separate cache, so that guessing does not evict known tokens. */
const UNKNOWN_MAX = 1000;
/** The part of a token that is shown to users. */
const HINT_CHARS = 14;

/** Stored fields of a token, besides its owner. */
interface TokenAbout {
  readonly name?: string;
  /** For a key. */
  readonly limits?: readonly SetLimit[];
  /** The account that created the token. */
  readonly createdBy?: string;
  /** The id of the API token that created this token. Revoking that token revokes this token. */
  readonly parentId?: string | null;
}

/** A created token. */
interface IssuedToken {
  readonly id: string;
  /** Not stored. */
  readonly token: string;
}

interface Row {
  readonly id: string;
  readonly kind: AiCallerKind;
  readonly organization_id: string;
  readonly project_id: string | null;
  readonly deployment_id: string | null;
  readonly branch: string | null;
  readonly run_id: string | null;
  readonly plan: Plan;
  readonly expires_at: number | null;
}

interface Known {
  readonly caller: Caller;
  readonly expiresAt: number | null;
}

interface PostgresTokens extends TokenRegistry {
  /** @param hash in hexadecimal. */
  forget(hash: string): void;
  forgetAll(): void;
}

export function createTokens(sql: Statements, now: () => number): PostgresTokens {
  const known = createRemembered<Known | null>({ most: REMEMBERED_MAX, ms: REMEMBERED_MS, now });
  const unknown = new Map<string, number>();
  const forget = (hash: string): void => known.forget(hash);
  return {
    forget,
    forgetAll: () => known.forgetAll(),
    issue: async (caller, expiresAt) => (await issueToken(sql, caller, expiresAt)).token,
    async authenticate(token) {
      if (ownerOf(token) === null) return 'invalid';
      const bytes = hashOf(token);
      const hash = bytes.toString('hex');
      if ((unknown.get(hash) ?? 0) > now()) return 'invalid';
      const found = await known.get(hash, () => lookUp(sql, bytes));
      if (found === null) {
        known.forget(hash);
        unknown.delete(hash);
        unknown.set(hash, now() + REMEMBERED_MS);
        if (unknown.size > UNKNOWN_MAX) unknown.delete(unknown.keys().next().value!);
        return 'invalid';
      }
      return found.expiresAt !== null && found.expiresAt <= now() ? 'expired' : found.caller;
    },
    async revokeDeployment(deploymentId, kept) {
      for (const hash of await revokeDeploymentTokens(sql, deploymentId, kept)) forget(hash.toString('hex'));
    },
    async revoke(token) {
      const hash = hashOf(token);
      await sql.all('DELETE FROM control.ai_token WHERE hash = $1', hash);
      forget(hash.toString('hex'));
    },
  };
}

/** @param sql may be the transaction that creates the token's owner. */
export async function issueToken(
  sql: Statements,
  { kind, organizationId, projectId, deploymentId, branch, runId }: Omit<Caller, 'plan'>,
  expiresAt: number | null,
  { name = '', limits = [], createdBy, parentId = null }: TokenAbout = {},
): Promise<IssuedToken> {
  const id = newTokenId();
  const token = newToken(deploymentId ?? id.replace('_', ''));
  await sql.all(
    `INSERT INTO control.ai_token (hash, id, kind, organization_id, project_id, deployment_id, branch, run_id, name, hint,
       limits, created_by, parent_id, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::text::jsonb, $12, $13, to_timestamp($14::double precision / 1000))`,
    hashOf(token),
    id,
    kind,
    organizationId,
    projectId,
    deploymentId,
    branch,
    runId,
    name,
    token.slice(0, HINT_CHARS),
    JSON.stringify(limits),
    createdBy ?? null,
    parentId,
    expiresAt,
  );
  return { id, token };
}

/** @returns the hashes of the deleted tokens. */
export async function revokeDeploymentTokens(
  sql: Statements,
  deploymentId: string,
  kept: string | null,
): Promise<readonly Buffer[]> {
  const rows = await sql.all<{ hash: Buffer }>(
    'DELETE FROM control.ai_token WHERE deployment_id = $1 AND hash IS DISTINCT FROM $2 RETURNING hash',
    deploymentId,
    kept === null ? null : hashOf(kept),
  );
  return rows.map(({ hash }) => hash);
}

async function lookUp(sql: Statements, hash: Buffer): Promise<Known | null> {
  const [row] = await sql.all<Row>(
    `SELECT t.id, t.kind, t.organization_id, t.project_id, t.deployment_id, t.branch, t.run_id, o.plan,
       (extract(epoch FROM t.expires_at) * 1000)::double precision AS expires_at
     FROM control.ai_token t JOIN control.organization o ON o.id = t.organization_id WHERE t.hash = $1`,
    hash,
  );
  if (row === undefined) return null;
  const caller: Caller = {
    kind: row.kind,
    organizationId: row.organization_id,
    projectId: row.project_id,
    deploymentId: row.deployment_id,
    branch: row.branch,
    plan: row.plan,
    runId: row.run_id,
    ...(row.kind === 'key' && { keyId: row.id }),
  };
  return { caller, expiresAt: row.expires_at };
}
