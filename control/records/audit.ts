// The audit log: each change writes one row in its own transaction.
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { Actor } from '../access/actor.ts';

/** An audited action. */
export interface AuditEvent {
  readonly organizationId: string | null;
  readonly projectId?: string | null;
  /** Subject and verb: `project.update`, `member.remove`. */
  readonly action: string;
  readonly subjectKind: string;
  readonly subjectId: string | null;
  /** Details never contain a secret or a variable's value. */
  readonly details?: Readonly<Record<string, AuditValue>>;
}

/** Values of details. */
type AuditValue = string | number | boolean | null | readonly string[];

/** Actor and client address. */
interface AuditSource {
  readonly actor: Actor | null;
  readonly address: string | null;
  readonly requestId: string | null;
}

/** Writes an audit log row. Without an actor, the platform itself made the change. */
export async function writeAudit(
  tx: Transaction | Sql,
  { actor, address, requestId }: AuditSource,
  { organizationId, projectId = null, action, subjectKind, subjectId, details = {} }: AuditEvent,
): Promise<void> {
  const kind = actor === null ? 'system' : actor.token === null ? 'account' : 'token';
  const id = actor === null ? null : (actor.token?.id ?? actor.accountId);
  const said = kind === 'token' ? { ...details, accountId: actor!.accountId } : details;
  await tx`
    INSERT INTO control.audit_event (organization_id, project_id, actor_kind, actor_id, action, subject_kind,
      subject_id, details, address, request_id)
    VALUES (${organizationId}, ${projectId}, ${kind}, ${id}, ${action}, ${subjectKind},
      ${subjectId}, ${tx.json(said as Record<string, string>)}, ${address}, ${requestId})`;
}
