// Deletes expired data: windows of limits, reservations of dead gateways, expired tokens, old usage. Every gateway runs
// this cleanup periodically.
import type { Statements } from '#postgres/connection.ts';

const DAY_MS = 86_400_000;
/** Expired rows are deleted this much later, because a gateway's clock may be slow. */
const OVER_MS = 3_600_000;
const TOGETHER = 10_000;

const EVERY_STEP = [
  `DELETE FROM control.ai_counter WHERE (key, starts_at) IN (
     SELECT key, starts_at FROM control.ai_counter WHERE ends_at < to_timestamp($1::double precision / 1000)
     ORDER BY ends_at LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1`,
  `DELETE FROM control.ai_token WHERE hash IN (
     SELECT hash FROM control.ai_token WHERE expires_at < to_timestamp($1::double precision / 1000) - interval '1 day'
     LIMIT $2) RETURNING 1`,
];
const USAGE = `
  DELETE FROM control.ai_usage WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM control.ai_usage WHERE at < to_timestamp($1::double precision / 1000) LIMIT $2)) RETURNING 1`;
const HOLDERS = `
  WITH gone AS (DELETE FROM control.ai_holder WHERE lease_until < clock_timestamp() - $1 * interval '1 ms' RETURNING id)
  DELETE FROM control.ai_held WHERE holder IN (SELECT id FROM gone)`;
const HELD = `
  DELETE FROM control.ai_held h
  WHERE NOT EXISTS (SELECT FROM control.ai_counter c WHERE c.key = h.key AND c.starts_at = h.starts_at)`;

/** @param at ms since 1970. @param usageDays how long usage rows are kept. */
export async function sweep(sql: Statements, at: number, usageDays: number): Promise<void> {
  const all = async (statement: string, before: number): Promise<void> => {
    while ((await sql.all(statement, before, TOGETHER)).length === TOGETHER);
  };
  for (const statement of EVERY_STEP) await all(statement, at - OVER_MS);
  await all(USAGE, at - usageDays * DAY_MS);
  await sql.all(HOLDERS, OVER_MS);
  await sql.all(HELD);
}
