// Converts values that workers stored in the encoding of runtime/engine/guest/lazy/stored-values.ts to JSON for
// people, in the dashboard, API and CLI. The records come from workers, so this code does not trust them.

/** References to one object are repeated here, so a few records could expand to billions of values. */
const NODES_MAX = 10_000;

/**
 * A stored value as readable JSON: dates as ISO texts, maps as lists of pairs, bytes as base64. Plain values are
 * returned unchanged.
 *
 * @example shownValue({ $structured: 1, records: [['map', [1, 2]], 'a', ['date', 0]] }); // [['a',
 * '1970-01-01T00:00:00.000Z']]
 */
export function shownValue(stored: unknown): unknown {
  if (typeof stored !== 'object' || stored === null || !Object.hasOwn(stored, '$structured')) return stored;
  const { records } = stored as { readonly records?: unknown };
  if (!Array.isArray(records)) return stored;
  let nodes = 0;
  const open = new Set<unknown>();
  const show = (index: unknown): unknown => {
    const record: unknown = records[index as number];
    if (!Array.isArray(record)) return record ?? null;
    if (open.has(index)) return '[Circular]';
    if (++nodes > NODES_MAX) return '[...]';
    open.add(index);
    const value = showRecord(record, show);
    open.delete(index);
    return value;
  };
  return show(0);
}

function showRecord([kind, first, ...rest]: readonly unknown[], show: (index: unknown) => unknown): unknown {
  const list = Array.isArray(first) ? (first as readonly unknown[]) : [];
  switch (kind) {
    case 'undefined':
      return null;
    case 'date':
      return typeof first === 'number' && Math.abs(first) <= 8.64e15 ? new Date(first).toISOString() : 'Invalid Date';
    case 'regexp':
      return `/${String(first)}/${String(rest[0])}`;
    case 'object':
      return Object.fromEntries(pairsOf(list).map(([key, index]) => [String(key), show(index)]));
    case 'array':
      return pairsOf(Array.isArray(rest[0]) ? (rest[0] as readonly unknown[]) : []).map(([, index]) => show(index));
    case 'map':
      return pairsOf(list).map(([key, index]) => [show(key), show(index)]);
    case 'set':
      return list.map(show);
    case 'error':
      return `${String(first)}: ${String(rest[0])}`;
    case 'view':
      return show(rest[0]);
    case 'boxed':
      return show(first);
    // The content of a bigint, number or buffer is a text.
    default:
      return first ?? null;
  }
}

function pairsOf(list: readonly unknown[]): readonly (readonly [unknown, unknown])[] {
  return Array.from({ length: Math.floor(list.length / 2) }, (_, at) => [list[2 * at], list[2 * at + 1]] as const);
}
