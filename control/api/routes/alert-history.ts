// The history of alerts: fired, resolved and tested, with the deliveries. The routes of alerts.ts check access.
import Type from '#core/typebox/typebox.mjs';
import type { Sql } from '#postgres/sql.ts';
import { pageOf, readTimePage, toTimePage } from '../../http/page.ts';
import { Id, nullable, Timestamp } from '../../http/schemas.ts';
import { viewOf } from '../../http/view.ts';
import { timestampOfColumn, newestFirst } from '../../records/timestamp.ts';
import type { Owner } from '../../records/owned-table.ts';

const HISTORY_DELIVERIES_MAX = 10;

const Event = Type.Object({
  id: Id,
  ruleId: nullable(Id),
  type: Type.Enum(['fired', 'resolved', 'test']),
  name: Type.String(),
  value: nullable(Type.Number()),
  message: Type.String(),
  createdAt: Timestamp,
  deliveries: Type.Array(
    Type.Object({
      channel: Type.String(),
      state: Type.Enum(['waiting', 'delivered', 'failed']),
      attempt: Type.Integer(),
      error: nullable(Type.String()),
    }),
  ),
});
export const HistorySchema = pageOf(Event);

export async function readHistory(
  sql: Sql,
  { projectId }: Owner,
  query: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
) {
  const page = readTimePage(query);
  const rows = await sql<{ id: string; position: string }[]>`
    SELECT event.*, ${timestampOfColumn(sql, 'event.created_at')} AS position, coalesce((
      SELECT json_agg(json_build_object('channel', channel.name, 'attempt', attempt, 'error', error, 'state', CASE
        WHEN delivered_at IS NOT NULL THEN 'delivered' WHEN due_at IS NOT NULL THEN 'waiting' ELSE 'failed' END))
      FROM (SELECT * FROM control.alert_delivery WHERE event_id = event.id LIMIT ${HISTORY_DELIVERIES_MAX}) AS delivery
      JOIN control.alert_channel AS channel ON channel.id = channel_id), '[]') AS deliveries
    FROM control.alert_event AS event WHERE event.project_id IS NOT DISTINCT FROM ${projectId}
      ${newestFirst(sql, page, 'event.')}`;
  return toTimePage(rows, page, viewOf(Event));
}
