// Kinds of database values as they are typed into forms, and their conversion to cells of the API. Pure.
import { sqlLiteral, type Cell } from './value.tsx';

export const cellKinds = [
  ['text', 'Text'],
  ['number', 'Number'],
  ['null', 'NULL'],
  ['blob', 'Bytes (base64)'],
] as const;
export type CellKind = (typeof cellKinds)[number][0];

const SHOWN_CHARS_MAX = 500;

/** An SQL literal, truncated; `?` for an invalid value. */
export function shownLiteral(value: Cell | undefined): string {
  const text = value === undefined ? '?' : sqlLiteral(value);
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text;
}

/** Kind of a value; for NULL, the kind of its column. @param type the type of the column, as declared. */
export function kindOf(value: Cell, type: string): CellKind {
  if (value === null) return /int|real|num|doub|float/i.test(type) ? 'number' : 'text';
  if (typeof value === 'string') return 'text';
  return typeof value === 'object' && 'b' in value ? 'blob' : 'number';
}

/** A value as text to edit. */
export function textOf(value: Cell): string {
  if (value === null) return '';
  if (typeof value === 'object')
    return ('b' in value ? value.b : 'i' in value ? value.i : 'n' in value ? value.n : '') ?? '';
  return String(value);
}

/** The cell for a typed text; undefined if the text is invalid for the kind. */
export function toCell(kind: CellKind, text: string): Cell | undefined {
  if (kind === 'null') return null;
  if (kind === 'text') return text;
  if (kind === 'blob')
    return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text) ? { b: text } : undefined;
  const trimmed = text.trim();
  if (/^-?\d+$/.test(trimmed) && !Number.isSafeInteger(Number(trimmed))) return { i: trimmed };
  return trimmed === '' || !Number.isFinite(Number(trimmed)) ? undefined : Number(trimmed);
}
