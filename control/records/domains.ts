// Custom domains: a project may ask for a hostname, and has it when a TXT record proves that it may.
import { randomBytes } from 'node:crypto';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { newId } from './ids.ts';

/** A row of control.domain, with its project's organization. */
export interface DomainRow {
  readonly id: string;
  readonly project_id: string;
  readonly hostname: string;
  readonly branch: string | null;
  readonly redirect_to: string | null;
  readonly status: 'pending_verification' | 'verifying' | 'issuing' | 'active' | 'error';
  readonly verification: { readonly name: string; readonly value: string; readonly problem?: string };
  readonly certificate: { readonly issuer: string; readonly expiresAt: string } | null;
  readonly created_at: Date;
  readonly verified_at: Date | null;
}

export const toDomain = (row: DomainRow) => ({
  id: row.id,
  projectId: row.project_id,
  hostname: row.hostname,
  branch: row.branch,
  redirectTo: row.redirect_to,
  status: row.status,
  verification: { type: 'TXT' as const, name: row.verification.name, value: row.verification.value },
  problem: row.verification.problem ?? null,
  certificate: row.certificate,
  createdAt: row.created_at.toISOString(),
  verifiedAt: row.verified_at?.toISOString() ?? null,
});

export async function listDomains(sql: Sql, projectId: string): Promise<DomainRow[]> {
  return sql<DomainRow[]>`SELECT * FROM control.domain WHERE project_id = ${projectId} ORDER BY hostname LIMIT 1000`;
}

/** One, with the project it is of; null where there is none. */
export async function readDomain(sql: Sql | Transaction, id: string): Promise<DomainRow | null> {
  const [row] = await sql<DomainRow[]>`SELECT * FROM control.domain WHERE id = ${id}`;
  return row ?? null;
}

/** What a project asks for. */
export interface NewDomain {
  readonly projectId: string;
  readonly hostname: string;
  readonly branch: string | null;
  readonly redirectTo: string | null;
}

/** Adds one that waits for its proof; null when the project has it. */
export async function addDomain(tx: Transaction, given: NewDomain): Promise<DomainRow | null> {
  const { projectId, hostname, branch, redirectTo } = given;
  const verification = {
    name: `_platform.${hostname}`,
    value: `platform-verify=${randomBytes(20).toString('hex')}`,
  };
  const [row] = await tx<DomainRow[]>`
    INSERT INTO control.domain (id, project_id, hostname, branch, redirect_to, verification)
    VALUES (${newId('domain')}, ${projectId}, ${hostname}, ${branch}, ${redirectTo}, ${tx.json(verification)})
    ON CONFLICT (project_id, hostname) DO NOTHING RETURNING *`;
  return row ?? null;
}

export async function countDomains(tx: Transaction, projectId: string): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    SELECT count(*)::int FROM control.domain WHERE project_id = ${projectId}`;
  return row!.count;
}

/** Writes down how its verification went; it is then routed. @returns null when another project has proved it. */
export async function settleDomain(tx: Transaction, row: DomainRow, problem: string | null): Promise<DomainRow | null> {
  if (problem === null) {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`domain:${row.hostname}`}, 0))`;
    const taken = await tx`
      SELECT 1 FROM control.domain WHERE hostname = ${row.hostname} AND verified_at IS NOT NULL AND id <> ${row.id}`;
    if (taken.length > 0) return null;
  }
  const verification = {
    name: row.verification.name,
    value: row.verification.value,
    ...(problem !== null && { problem }),
  };
  const [changed] = await tx<DomainRow[]>`
    UPDATE control.domain SET verification = ${tx.json(verification)},
      status = CASE WHEN ${problem === null} THEN 'active' ELSE status END,
      verified_at = CASE WHEN ${problem === null} THEN coalesce(verified_at, now()) ELSE verified_at END
    WHERE id = ${row.id} RETURNING *`;
  return changed ?? null;
}

export async function deleteDomain(tx: Transaction, id: string): Promise<void> {
  await tx`DELETE FROM control.domain WHERE id = ${id}`;
}
