// The filter shared by queries for stored lines, invocations and traces: its schema, and its SQL condition. Used by the
// readers of this folder.
import Type from '#core/typebox/typebox.mjs';
import { invocationKinds } from '#core/plans.ts';
import type { Sql } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';
import { Timestamp } from '../http/schemas.ts';
import { checkTimeRange } from '../http/time-range.ts';
import { decodeCursor, encodeCursor, timestampOf } from '../http/page.ts';

const DAY_MS = 86_400_000;
const LIMIT_MAX = 1000;
const LIMIT_DEFAULT = 100;
const CURSOR_CHARS_MAX = 300;

/** Query parameters of every request for stored records. */
export const storedQuery = {
  from: Type.Optional(Timestamp),
  to: Type.Optional(Timestamp),
  deploymentId: Type.Optional(Type.String({ maxLength: 64 })),
  branch: Type.Optional(Type.String({ maxLength: 255 })),
  kind: Type.Optional(Type.Enum([...invocationKinds])),
  route: Type.Optional(
    Type.String({ maxLength: 2048, description: 'Route, as in the response, such as `/api/users/*`' }),
  ),
  traceId: Type.Optional(Type.String({ pattern: '^[0-9a-f]{32}$' })),
};

/** Query parameters of pages. */
export const storedPage = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT })),
  cursor: Type.Optional(Type.String({ maxLength: CURSOR_CHARS_MAX, description: 'nextCursor of the page before' })),
};

/** Query parameters of counts over time. */
export const bucketsQuery = {
  buckets: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, default: 60, description: 'Number of intervals in the time range' }),
  ),
};

/** The parsed shared parameters. */
export interface StoredQuestion {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly deploymentId?: string | undefined;
  readonly branch?: string | undefined;
  readonly kind?: string | undefined;
  readonly route?: string | undefined;
  readonly traceId?: string | undefined;
}

/** An SQL condition, possibly empty. */
export type Fragment = ReturnType<Sql>;

/** The SQL condition for the parameters that all queries share, without the time range. */
export function storedCondition(sql: Sql, projectId: string, asked: StoredQuestion): Fragment {
  const { deploymentId, branch, kind, route, traceId } = asked;
  return sql`project_id = ${projectId}
    ${deploymentId === undefined ? sql`` : sql`AND deployment_id = ${deploymentId}`}
    ${branch === undefined ? sql`` : sql`AND branch = ${branch}`}
    ${kind === undefined ? sql`` : sql`AND kind = ${kind}`}
    ${route === undefined ? sql`` : sql`AND route = ${route}`}
    ${traceId === undefined ? sql`` : sql`AND trace_id = ${traceId}`}`;
}

/** A time range. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
}

/**
 * The requested time range; without `from`, everything stored.
 *
 * @throws {ApiError} if the range is negative.
 */
export function timeOf({ from, to }: StoredQuestion, keptMs: number, now: number = Date.now()): Span {
  // Clocks differ, so current records may have a timestamp slightly in the future.
  const end = to === undefined ? new Date(now + 60_000) : new Date(to);
  const begin = from === undefined ? new Date(Math.min(now, end.getTime()) - keptMs - DAY_MS) : new Date(from);
  checkTimeRange(begin, end);
  return { from: begin, to: end };
}

/** Divides the time range into equal intervals. @param ms length of the range without `from`. */
export function bucketsOf(asked: StoredQuestion & { readonly buckets?: number | undefined }, ms: number) {
  const to = asked.to === undefined ? new Date() : new Date(asked.to);
  const { from } = timeOf({ from: asked.from ?? new Date(to.getTime() - ms).toISOString(), to: to.toISOString() }, 0);
  const bucketMs = Math.max(1000, Math.ceil((to.getTime() - from.getTime()) / (asked.buckets ?? 60)));
  return { from, to, bucketMs };
}

/** The position after which a page starts: timestamp and number. */
export interface StoredPosition {
  /** With microseconds, as Postgres prints it. */
  readonly at: string;
  readonly seq: number;
}

export function positionOf(cursor: string | undefined): StoredPosition | null {
  if (cursor === undefined) return null;
  const { order, id } = decodeCursor(cursor);
  const seq = Number(id);
  const at = timestampOf({ order, id });
  if (!/^\d{1,15}$/.test(id) || !Number.isSafeInteger(seq))
    throw new ApiError('bad_request', { reason: 'query.cursor: is not a cursor of this list' });
  return { at, seq };
}

export function cursorOf({ moment, seq }: { readonly moment: string; readonly seq: number }): string {
  return encodeCursor({ order: moment, id: String(seq) });
}

/** A timestamp with microseconds, for cursors. */
export const timestampColumn = (sql: Sql): Fragment =>
  sql`to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS moment`;

/** The page size, or its default. */
export function limitOf({ limit = LIMIT_DEFAULT }: { readonly limit?: number | undefined }): number {
  return limit;
}

/**
 * Reads with a statement timeout.
 *
 * @throws {ApiError} `bad_request` on a timeout, and for an invalid regular expression.
 */
export async function readWithin<Result>(sql: Sql, ms: number, read: (sql: Sql) => Promise<Result>): Promise<Result> {
  try {
    // Readers only use the template function of a transaction.
    return (await sql.begin('read only', async (tx) => {
      await tx`SELECT set_config('statement_timeout', ${String(ms)}, true)`;
      return read(tx as unknown as Sql);
    })) as Result;
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message: string };
    if (code === '2201B') throw new ApiError('bad_request', { reason: `query.regex: ${message}` });
    if (code === '57014')
      throw new ApiError('bad_request', {
        reason: `The search took longer than ${ms} ms: narrow query.from and query.to`,
      });
    throw error;
  }
}
