// Pagination: lists return `{items, nextCursor}`, where the opaque cursor points to the next page.
import Type, { type TSchema } from '#core/typebox/typebox.mjs';
import { ApiError } from './errors.ts';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;
const CURSOR_CHARS_MAX = 300;

/** Query parameters of every list. */
export const pageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT })),
  cursor: Type.Optional(Type.String({ maxLength: CURSOR_CHARS_MAX, description: 'nextCursor of the page before' })),
};

/** Response of every list. `nextCursor` is null on the last page. */
export function pageOf<Item extends TSchema>(item: Item) {
  return Type.Object({ items: Type.Array(item), nextCursor: Type.Union([Type.String(), Type.Null()]) });
}

/** The last row of a page: its sort key and its id. */
interface Position {
  readonly order: string;
  readonly id: string;
}

interface PageQuery {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/**
 * The number of rows to read (one more than the page has) and the start position.
 *
 * @throws {ApiError} `bad_request` for an invalid cursor.
 */
export function readPage({ limit = LIMIT_DEFAULT, cursor }: PageQuery): { count: number; after: Position | null } {
  return { count: limit + 1, after: cursor === undefined ? null : decodeCursor(cursor) };
}

/** Builds the page from rows read with {@link readPage}. */
export function toPage<Row, Item>(
  rows: readonly Row[],
  count: number,
  toItem: (row: Row) => Item,
  positionOf: (row: Row) => Position,
): { items: Item[]; nextCursor: string | null } {
  const shown = rows.slice(0, count - 1);
  const last = rows.length === count ? shown.at(-1) : undefined;
  return { items: shown.map(toItem), nextCursor: last === undefined ? null : encodeCursor(positionOf(last)) };
}

/** The start of a page of a list by time, the newest first. */
export interface TimePage {
  /** Number of rows to read, one more than the page has. */
  readonly count: number;
  readonly after: { readonly moment: string; readonly id: string } | null;
}

/** Like {@link readPage}, for lists by time (records/timestamp.ts). @throws {ApiError} */
export function readTimePage(asked: PageQuery): TimePage {
  const { count, after } = readPage(asked);
  return { count, after: after === null ? null : { moment: timestampOf(after), id: after.id } };
}

/** Builds the page from rows read with {@link readTimePage}. */
export function toTimePage<Row extends { readonly id: string; readonly position: string }, Item>(
  rows: readonly Row[],
  { count }: TimePage,
  toItem: (row: Row) => Item,
): { items: Item[]; nextCursor: string | null } {
  return toPage(rows, count, toItem, ({ position, id }) => ({ order: position, id }));
}

export function encodeCursor({ order, id }: Position): string {
  return Buffer.from(JSON.stringify([order, id])).toString('base64url');
}

/** @throws {ApiError} */
export function decodeCursor(text: string): Position {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (Array.isArray(value) && value.length === 2) {
      const [order, id] = value as unknown[];
      if (isWord(order) && isWord(id)) return { order, id };
    }
  } catch {
    // Invalid JSON is reported by the error below.
  }
  throw new ApiError('bad_request', { reason: 'query.cursor: is not a cursor of this list' });
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && /^[\x20-\x7e]{0,128}$/.test(value);
}

/** The timestamp of a cursor, exact to the microsecond. @throws {ApiError} */
export function timestampOf({ order }: Position): string {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(order) || Number.isNaN(Date.parse(order)))
    throw new ApiError('bad_request', { reason: 'query.cursor: is not a cursor of this list' });
  return order;
}
