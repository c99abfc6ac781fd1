// A custom domain as the API shows it: DNS records to create, state of its verification, and its certificate at the
// edge. Called by the routes of domains.
import Type from '#core/typebox/typebox.mjs';
import { Id, nullable, Timestamp } from '../http/schemas.ts';
import type { Dependencies } from '../process/dependencies.ts';
import type { DomainRow } from '../records/domains.ts';
import { dnsRecords, unicodeOf } from './hostname.ts';
import { publicAddresses } from './public-addresses.ts';

const certificateSchema = Type.Object({
  issuer: nullable(Type.String()),
  notBefore: nullable(Timestamp),
  expiresAt: nullable(Timestamp),
  renewsAt: nullable(Timestamp),
  // Error message of the certificate authority.
  problem: nullable(Type.String()),
  nextAttemptAt: nullable(Timestamp),
});

export const domainSchema = Type.Object({
  id: Id,
  projectId: Id,
  // The hostname as in DNS: internationalized names are in Punycode.
  hostname: Type.String(),
  // In Unicode.
  unicode: Type.String(),
  branch: nullable(Type.String()),
  redirectTo: nullable(Type.String()),
  status: Type.Enum(['pending_verification', 'verifying', 'issuing', 'active', 'error']),
  verification: Type.Object({ type: Type.Literal('TXT'), name: Type.String(), value: Type.String() }),
  // DNS records to create: one for verification, one for routing. A CNAME record to the project's host can do both.
  records: Type.Array(
    Type.Object({
      type: Type.Enum(['TXT', 'CNAME', 'A', 'AAAA']),
      name: Type.String(),
      value: Type.String(),
      purpose: Type.Enum(['verify', 'route']),
    }),
  ),
  // Problem found by the last DNS check, or why there is no certificate.
  problem: nullable(Type.String()),
  checkedAt: nullable(Timestamp),
  // The domain is still served, but was not verified since this time; it is removed at `removedAfter`.
  failingSince: nullable(Timestamp),
  removedAfter: nullable(Timestamp),
  certificate: nullable(certificateSchema),
  note: Type.String(),
  createdAt: Timestamp,
  verifiedAt: nullable(Timestamp),
});

const ISSUES =
  'Point the host at this platform. The certificate is issued at the first visit over HTTPS, or minutes after the ownership check.';
const ISSUES_NONE =
  'Point the host at this platform (CNAME or A). This platform issues no certificates (PUBLIC_HTTPS is off) and serves HTTP. For HTTPS, put a proxy with a certificate in front of the platform.';

/** Looks up the platform's addresses once for all domains. */
export async function showDomains(deps: ViewDeps, rows: readonly DomainRow[]): Promise<DomainView[]> {
  const addresses = rows.length === 0 ? [] : await Promise.race([publicAddresses(deps).catch(() => []), waited()]);
  return rows.map((row) => show(deps, row, addresses));
}

export async function showDomain(deps: ViewDeps, row: DomainRow): Promise<DomainView> {
  const [shown] = await showDomains(deps, [row]);
  return shown!;
}

type ViewDeps = Pick<Dependencies, 'names' | 'addresses' | 'edgeState' | 'limits'>;
type DomainView = Type.Static<typeof domainSchema>;

/** Do not let slow name servers delay the response. */
const DNS_MS_MAX = 1000;
const waited = (): Promise<readonly string[]> =>
  new Promise((resolve) => setTimeout(() => resolve([]), DNS_MS_MAX).unref());

function show(deps: ViewDeps, row: DomainRow, ownAddresses: readonly string[]): DomainView {
  const { addresses, limits } = deps;
  const { hostname, verification, verified_at: verifiedAt, failing_since: failingSince } = row;
  const isIssued = addresses.issuesCertificates === true;
  const certificate = (isIssued ? deps.edgeState()?.certificates[hostname] : undefined) ?? null;
  const hasValid = certificate?.expiresAt != null && Date.parse(certificate.expiresAt) > Date.now();
  const problem = verification.problem ?? (verifiedAt === null ? null : (certificate?.problem ?? null));
  const isServing = verifiedAt !== null && (!isIssued || hasValid);
  const isIssuing = verifiedAt !== null && !isServing && certificate?.problem == null;
  return {
    id: row.id,
    projectId: row.project_id,
    hostname,
    unicode: unicodeOf(hostname),
    branch: row.branch,
    redirectTo: row.redirect_to,
    status: isServing
      ? 'active'
      : isIssuing
        ? 'issuing'
        : verifiedAt !== null || row.status === 'error'
          ? 'error'
          : 'pending_verification',
    verification: { type: 'TXT', name: verification.name, value: verification.value },
    records: dnsRecords({
      hostname,
      verification,
      projectHost: `${row.project_name}.${addresses.domain}`,
      publicAddresses: ownAddresses,
    }),
    problem,
    checkedAt: row.checked_at?.toISOString() ?? null,
    failingSince: failingSince?.toISOString() ?? null,
    removedAfter: failingSince === null ? null : new Date(failingSince.getTime() + limits.domainGraceMs).toISOString(),
    certificate,
    note: isIssued ? ISSUES : ISSUES_NONE,
    createdAt: row.created_at.toISOString(),
    verifiedAt: verifiedAt?.toISOString() ?? null,
  };
}
