// What is said of a change beside the change itself, in its transaction: the audit row, the word to those who wait.
import type { Transaction } from '#postgres/sql.ts';
import { writeAudit, type AuditEvent } from '../records/audit.ts';

/** Writes a row of the audit log, as whoever asks; `ctx.state.audit` of a route is one. */
export type Audit = (tx: Transaction, event: AuditEvent) => Promise<void>;

/** What the platform does by itself. */
export const systemAudit: Audit = (tx, event) => writeAudit(tx, { actor: null, address: null, requestId: null }, event);

/** Tells who waits for a deployment. */
export async function tell(tx: Transaction, deploymentId: string): Promise<void> {
  await tx`SELECT pg_notify('control_deployment', ${deploymentId})`;
}
