// Checks the DNS records of one domain and updates its state: verified, pending or lost. Called by the verify route
// and by recheck.ts.
import type { Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import {
  lastOwner,
  provedDomain,
  readDomain,
  settleDomain,
  type CheckTimes,
  type DomainRow,
  type Proof,
} from '../records/domains.ts';
import { changeProject } from '../records/projects.ts';
import { enqueueEvent } from '../webhooks/events.ts';
import { findProof } from './proof.ts';
import { publicAddresses } from './public-addresses.ts';

type CheckDeps = Pick<Dependencies, 'sql' | 'names' | 'addresses' | 'limits' | 'log'>;

/** Result of a check. */
interface Checked {
  /** The current row; null if the domain has been deleted. */
  readonly row: DomainRow | null;
  readonly proof: Proof;
  /** Another project has verified the host, and its DNS record still exists. */
  readonly isTaken: boolean;
}

/** @param note a function that writes to the audit log, in the transaction of the change. */
export async function checkDomain(
  deps: CheckDeps,
  row: DomainRow,
  note: (tx: Transaction, proof: Proof) => Promise<void> = () => Promise.resolve(),
): Promise<Checked> {
  let proof = await prove(deps, row);
  let loses: DomainRow | null = null;
  if (!('problem' in proof)) {
    const other = await provedDomain(deps.sql, row.hostname);
    if (other !== null && other.id !== row.id) {
      // A current TXT record takes precedence over an earlier verification by another project.
      if (proof.by === 'txt' && (await prove(deps, other)).by === 'none') loses = other;
    } else if (proof.by === 'cname' && row.verified_at === null) {
      const owner = await lastOwner(deps.sql, row.hostname);
      if (owner !== null && owner !== row.organization_id)
        proof = {
          by: 'none',
          problem: `Another organization had ${row.hostname} before, so that its CNAME proves nothing: make the TXT record ${row.verification.name}`,
        };
    }
  }
  const times: CheckTimes = { recheckMs: deps.limits.domainRecheckMs, graceMs: deps.limits.domainGraceMs };
  return deps.sql.begin(async (tx) => {
    const settled = await settleDomain(tx, row, proof, times, loses);
    if (settled === null) return { row, proof, isTaken: true };
    const { project_id: projectId, organization_id: organizationId, hostname } = row;
    if (settled.changed !== null) await changeProject(tx, projectId, { settings: {} });
    if (loses !== null) await changeProject(tx, loses.project_id, { settings: {} });
    if (settled.changed === 'proved')
      await enqueueEvent(tx, { organizationId, projectId, event: 'domain.active', data: { hostname } });
    await note(tx, proof);
    return { row: await readDomain(tx, row.id), proof, isTaken: false };
  });
}

async function prove({ names, addresses }: CheckDeps, row: DomainRow): Promise<Proof> {
  const domains = [...new Set([addresses.domain, ...(addresses.domains ?? [])])];
  return findProof(names, {
    hostname: row.hostname,
    verification: row.verification,
    projectHosts: domains.map((domain) => `${row.project_name}.${domain}`),
    ownAddresses: row.verified_at === null ? [] : await publicAddresses({ names, addresses }).catch(() => []),
  });
}
