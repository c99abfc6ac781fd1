// The audit log of an organization, the newest first.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { pageOf, pageQuery, readPage, toPage } from '../../http/page.ts';
import { Id, nullable, Timestamp } from '../../http/schemas.ts';
import { checkTimeRange } from '../../http/time-range.ts';

const Text = nullable(Type.String());
const AuditEvent = Type.Object({
  id: Type.String(),
  at: Timestamp,
  actor: Type.Object({ kind: Type.Enum(['account', 'token', 'system']), id: Text, login: Text }),
  action: Type.String(),
  subjectKind: Type.String(),
  subjectId: Text,
  projectId: Text,
  details: Type.Record(Type.String(), Type.Unknown()),
  address: Text,
  requestId: Text,
});

interface Row {
  readonly seq: number;
  readonly at: Date;
  readonly actor_kind: 'account' | 'token' | 'system';
  readonly actor_id: string | null;
  readonly login: string | null;
  readonly action: string;
  readonly subject_kind: string;
  readonly subject_id: string | null;
  readonly project_id: string | null;
  readonly details: Record<string, unknown>;
  readonly address: string | null;
  readonly request_id: string | null;
}

export const audit = platform<Dependencies, RequestState>().get(
  '/orgs/:id/audit',
  {
    ...needs('audit:read', 'organization'),
    tags: ['audit'],
    summary: 'Read the audit log, newest first',
    query: Type.Object({
      ...pageQuery,
      action: Type.Optional(Type.String({ maxLength: 100, description: 'Such as `project.update`' })),
      subjectKind: Type.Optional(Type.String({ maxLength: 100, description: 'Such as `token`' })),
      projectId: Type.Optional(Id),
      actor: Type.Optional(Type.String({ maxLength: 100, description: 'Login of the account' })),
      from: Type.Optional(Timestamp),
      to: Type.Optional(Timestamp),
    }),
    response: pageOf(AuditEvent),
  },
  async (ctx) => {
    const { sql } = ctx.env;
    const { action, projectId, actor, subjectKind, from, to } = ctx.query;
    if (from !== undefined && to !== undefined) checkTimeRange(new Date(from), new Date(to));
    const { count, after } = readPage(ctx.query);
    const before = after === null ? null : Number(after.id);
    if (before !== null && !Number.isSafeInteger(before))
      throw new ApiError('bad_request', { reason: 'query.cursor: is not a cursor of this list' });
    const rows = await sql<Row[]>`
      SELECT e.seq, e.at, e.actor_kind, e.actor_id, a.login, e.action, e.subject_kind, e.subject_id, e.project_id,
        e.details, e.address, e.request_id
      FROM control.audit_event e LEFT JOIN control.account a
        ON a.id = CASE e.actor_kind WHEN 'account' THEN e.actor_id WHEN 'token' THEN e.details->>'accountId' END
      WHERE e.organization_id = ${ctx.params.id}
        ${before === null ? sql`` : sql`AND e.seq < ${before}`}
        ${action === undefined ? sql`` : sql`AND e.action = ${action}`}
        ${subjectKind === undefined ? sql`` : sql`AND e.subject_kind = ${subjectKind}`}
        ${actor === undefined ? sql`` : sql`AND a.login = ${actor}`}
        ${from === undefined ? sql`` : sql`AND e.at >= ${from}::text::timestamptz`}
        ${to === undefined ? sql`` : sql`AND e.at < ${to}::text::timestamptz`}
        ${projectId === undefined ? sql`` : sql`AND e.project_id = ${projectId}`}
      ORDER BY e.seq DESC LIMIT ${count}`;
    return toPage(rows, count, toEvent, ({ seq }) => ({ order: '', id: String(seq) }));
  },
);

const toEvent = (row: Row) => ({
  id: String(row.seq),
  at: row.at.toISOString(),
  actor: { kind: row.actor_kind, id: row.actor_id, login: row.login },
  action: row.action,
  subjectKind: row.subject_kind,
  subjectId: row.subject_id,
  projectId: row.project_id,
  details: row.details,
  address: row.address,
  requestId: row.request_id,
});
