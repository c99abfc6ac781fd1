// Audit entry and NOTIFY, written in the transaction of a change.
import type { Transaction } from '#postgres/sql.ts';
import { writeAudit, type AuditEvent } from '../records/audit.ts';

/** Writes an audit log row as the caller; `ctx.state.audit` of a route is such a function. */
export type Audit = (tx: Transaction, event: AuditEvent) => Promise<void>;

/** Writes audit entries with the platform itself as the actor. */
export const systemAudit: Audit = (tx, event) => writeAudit(tx, { actor: null, address: null, requestId: null }, event);

/** Notifies followers of a deployment. */
export async function tell(tx: Transaction, deploymentId: string): Promise<void> {
  await tx`SELECT pg_notify('control_deployment', ${deploymentId})`;
}
