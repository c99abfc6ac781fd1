// Computes medians, percentiles, tables and ratios from the measurements of a scenario. No I/O.

/** The middle of some readings; the mean of the two middle ones of an even number; NaN of none. */
export function median(readings: readonly number[]): number {
  const sorted = readings.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[half]!;
  return (sorted[half - 1]! + sorted[half]!) / 2;
}

/**
 * The smallest reading that at least this share of all readings do not exceed (nearest rank); NaN of none.
 *
 * @param share from 0 to 1.
 * @example percentile([10, 20, 30, 40], 0.5) // 20
 */
export function percentile(readings: readonly number[], share: number): number {
  const sorted = readings.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** How much y grows per x, by least squares; NaN of fewer than two points. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (at: 0 | 1): number => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread;
}

/** Rows under a head, the first column to the left and the others to the right; numbers as `digits` says. */
export function formatTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => (typeof cell === 'number' ? digits(cell) : cell)));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? '').length)));
  const lines = cells.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  '),
  );
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** Three digits that count and no exponent: `0.42`, `12.3`, `4567`; `-` for what could not be measured. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const size = Math.abs(value);
  return value.toFixed(Number.isInteger(value) || size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

/** `a / b` of two rows of a table, or null where one of them was not measured. */
export function ratio(figures: ReadonlyMap<string, number>, above: string, below: string): string | null {
  const a = figures.get(above);
  const b = figures.get(below);
  return a === undefined || b === undefined ? null : `${above} / ${below} = ${digits(a / b)}`;
}
