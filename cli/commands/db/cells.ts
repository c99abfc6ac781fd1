// Formats SQLite values for the output of `platform db query` and `platform objects sql`.

/** A value for JSON output: large integers and numbers such as `Infinity` become text, bytes become base64. */
export function shownCell(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { b, i, n } = value as { b?: unknown; i?: unknown; n?: unknown };
  return b !== undefined ? { base64: b } : (i ?? n ?? value);
}

/** A value for a table. */
export function cellOf(value: unknown): string | number | null {
  const one = shownCell(value);
  if (one === null || typeof one === 'string' || typeof one === 'number') return one;
  return typeof one === 'object'
    ? `<${Buffer.from(String((one as { base64?: string }).base64), 'base64').length} bytes>`
    : String(one);
}
