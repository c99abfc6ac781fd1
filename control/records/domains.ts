// Custom domains: a project adds a hostname and owns it once DNS verifies it. control/domains/ does the lookups; the
// results are stored here.
import { randomBytes } from 'node:crypto';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { newId } from './ids.ts';

/** Result of a verification. Only `none` counts against a domain, because unreachable name servers prove nothing. */
export type Proof =
  | { readonly by: 'txt' | 'cname' | 'addresses' }
  | { readonly by: 'none' | 'unknown'; readonly problem: string };

/** A row of control.domain, with its project's name and organization. */
export interface DomainRow {
  readonly id: string;
  readonly project_id: string;
  readonly project_name: string;
  readonly organization_id: string;
  readonly hostname: string;
  readonly branch: string | null;
  readonly redirect_to: string | null;
  /** `error`: the domain was verified before, but no longer is. */
  readonly status: 'pending_verification' | 'active' | 'error';
  readonly verification: { readonly name: string; readonly value: string; readonly problem?: string };
  readonly created_at: Date;
  /** When the domain was verified; null means that the domain is not served. */
  readonly verified_at: Date | null;
  readonly checked_at: Date | null;
  readonly failing_since: Date | null;
}

const COLUMNS = [
  'id',
  'project_id',
  'hostname',
  'branch',
  'redirect_to',
  'status',
  'verification',
  'created_at',
  'verified_at',
  'checked_at',
  'failing_since',
] as const;

const ofDomains = (sql: Sql | Transaction) => sql`
  SELECT ${sql(COLUMNS.map((name) => `d.${name}`))}, p.name AS project_name, p.organization_id
  FROM control.domain d JOIN control.project p ON p.id = d.project_id`;

export async function listDomains(sql: Sql, projectId: string): Promise<DomainRow[]> {
  return sql<DomainRow[]>`${ofDomains(sql)} WHERE d.project_id = ${projectId} ORDER BY d.hostname LIMIT 1000`;
}

/** A domain by id; null if there is none. */
export async function readDomain(sql: Sql | Transaction, id: string): Promise<DomainRow | null> {
  const [row] = await sql<DomainRow[]>`${ofDomains(sql)} WHERE d.id = ${id}`;
  return row ?? null;
}

/** The domain that has verified a host; null if none has. */
export async function provedDomain(sql: Sql | Transaction, hostname: string): Promise<DomainRow | null> {
  const [row] = await sql<DomainRow[]>`
    ${ofDomains(sql)} WHERE d.hostname = ${hostname} AND d.verified_at IS NOT NULL`;
  return row ?? null;
}

/** A domain to add. */
export interface NewDomain {
  readonly projectId: string;
  readonly hostname: string;
  readonly branch: string | null;
  readonly redirectTo: string | null;
}

/** Adds a pending domain; null if the project has it already. */
export async function addDomain(tx: Transaction, given: NewDomain): Promise<DomainRow | null> {
  const { projectId, hostname, branch, redirectTo } = given;
  const verification = {
    name: `_platform.${hostname}`,
    value: `platform-verify=${randomBytes(20).toString('hex')}`,
  };
  const id = newId('domain');
  const made = await tx`
    INSERT INTO control.domain (id, project_id, hostname, branch, redirect_to, verification)
    VALUES (${id}, ${projectId}, ${hostname}, ${branch}, ${redirectTo}, ${tx.json(verification)})
    ON CONFLICT (project_id, hostname) DO NOTHING RETURNING id`;
  return made.length === 0 ? null : readDomain(tx, id);
}

export async function countDomains(tx: Transaction, projectId: string): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    SELECT count(*)::int FROM control.domain WHERE project_id = ${projectId}`;
  return row!.count;
}

/** Claims due domains, so that others do not check them for a while. */
export async function takeDueDomains(sql: Sql, most: number, leaseMs: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    UPDATE control.domain SET next_check_at = now() + ${leaseMs} * interval '1 ms'
    WHERE id IN (
      SELECT id FROM control.domain WHERE next_check_at <= now() ORDER BY next_check_at LIMIT ${most}
      FOR UPDATE SKIP LOCKED)
    RETURNING id`;
  return rows.map(({ id }) => id);
}

/** Recheck interval, and how long a domain may stay unverified. Milliseconds. */
export interface CheckTimes {
  readonly recheckMs: number;
  readonly graceMs: number;
}

/** For pending domains: checks are frequent at first, since the owner is waiting, and stop after `end`. */
const PENDING_MS = { least: 60_000, most: 3_600_000, end: 14 * 24 * 3_600_000 };

/**
 * Stores the result of a DNS check.
 *
 * @param loses whether the current owner loses the host, because it can no longer prove its ownership.
 * @returns whether the domain starts or stops being served; null if another project has verified the host.
 */
export async function settleDomain(
  tx: Transaction,
  row: DomainRow,
  proof: Proof,
  times: CheckTimes,
  loses: DomainRow | null = null,
): Promise<{ readonly changed: 'proved' | 'lost' | null } | null> {
  const { id, hostname, organization_id: organizationId, verification } = row;
  const isProved = 'problem' in proof ? false : true;
  if (isProved) {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`domain:${hostname}`}, 0))`;
    const other = await provedDomain(tx, hostname);
    if (other !== null && other.id !== id) {
      if (other.id !== loses?.id) return null;
      await loseDomain(tx, other, 'Another project has verified this domain');
    }
    await tx`
      INSERT INTO control.domain_owner (hostname, organization_id) VALUES (${hostname}, ${organizationId})
      ON CONFLICT (hostname) DO UPDATE SET organization_id = ${organizationId}, proved_at = now()`;
    await tx`
      UPDATE control.domain SET status = 'active', verified_at = coalesce(verified_at, now()), checked_at = now(),
        failing_since = NULL, next_check_at = now() + ${times.recheckMs} * interval '1 ms',
        verification = ${tx.json({ name: verification.name, value: verification.value })}
      WHERE id = ${id}`;
    return { changed: row.verified_at === null ? 'proved' : null };
  }
  const { problem } = proof as { problem: string };
  const isFailing = proof.by === 'none' && row.verified_at !== null;
  const failingMs = row.failing_since === null ? 0 : Date.now() - row.failing_since.getTime();
  if (isFailing && row.failing_since !== null && failingMs >= times.graceMs) {
    await loseDomain(tx, row, problem);
    return { changed: 'lost' };
  }
  const ageMs = Date.now() - row.created_at.getTime();
  const againMs =
    row.verified_at !== null
      ? Math.min(times.recheckMs, PENDING_MS.most, Math.max(1000, times.graceMs / 4))
      : ageMs > PENDING_MS.end
        ? null
        : Math.min(PENDING_MS.most, Math.max(PENDING_MS.least, ageMs / 10));
  await tx`
    UPDATE control.domain SET checked_at = now(),
      failing_since = CASE WHEN ${isFailing} THEN coalesce(failing_since, now()) ELSE failing_since END,
      next_check_at = now() + ${againMs}::float8 * interval '1 ms',
      verification = ${tx.json({ name: verification.name, value: verification.value, problem })}
    WHERE id = ${id}`;
  return { changed: null };
}

async function loseDomain(tx: Transaction, { id, verification }: DomainRow, problem: string): Promise<void> {
  await tx`
    UPDATE control.domain SET status = 'error', verified_at = NULL, failing_since = NULL, checked_at = now(),
      next_check_at = NULL, verification = ${tx.json({ name: verification.name, value: verification.value, problem })}
    WHERE id = ${id}`;
}

/** The organization that verified a host last; null if none has. */
export async function lastOwner(sql: Sql, hostname: string): Promise<string | null> {
  const [row] = await sql<{ organization_id: string }[]>`
    SELECT organization_id FROM control.domain_owner WHERE hostname = ${hostname}`;
  return row?.organization_id ?? null;
}

export async function deleteDomain(tx: Transaction, id: string): Promise<void> {
  await tx`DELETE FROM control.domain WHERE id = ${id}`;
}
