// Prints tables: aligned columns with a header on a terminal, else tab-separated fields.
import { plain } from './plain.ts';
import type { Shell } from './shell.ts';

/** Columns and rows of a table; null and empty cells are printed as `-`. */
interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
  /** Message on a terminal if there are no rows. */
  readonly empty: string;
}

/** Wider cells are truncated on a terminal. */
const CELL_CHARS_MAX = 60;

/** Prints a table. */
export function printTable(shell: Shell, { columns, rows, empty }: Table): void {
  if (rows.length === 0) {
    if (shell.isTerminal) shell.out(empty);
    return;
  }
  const cells = rows.map((row) => row.map((cell) => toCell(cell, shell.isTerminal)));
  if (!shell.isTerminal) {
    for (const row of cells) shell.out(row.join('\t'));
    return;
  }
  const widths = columns.map((name, at) => Math.max(name.length, ...cells.map((row) => (row[at] ?? '').length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join('  ')
      .trimEnd();
  shell.out(shell.paint('dim', line(columns.map((name) => name.toUpperCase()))));
  for (const row of cells) shell.out(line(row));
}

function toCell(cell: string | number | null, isCut: boolean): string {
  const text = plain(String(cell ?? ''))
    .replace(/\s+/g, ' ')
    .trim();
  if (text === '') return '-';
  return isCut && text.length > CELL_CHARS_MAX ? `${text.slice(0, CELL_CHARS_MAX - 1)}…` : text;
}

/** Prints JSON if requested, else calls `lines`. */
export function print(shell: Shell, json: boolean | undefined, value: unknown, lines: () => void): void {
  if (json === true) shell.out(JSON.stringify(value));
  else lines();
}

/** @example formatBytes(1536) // '1.5 kB' */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const kilobytes = bytes / 1000;
  if (kilobytes < 1000) return `${kilobytes.toFixed(1)} kB`;
  return kilobytes < 1_000_000 ? `${(kilobytes / 1000).toFixed(1)} MB` : `${(kilobytes / 1_000_000).toFixed(1)} GB`;
}

/** @example formatMoment('2026-11-23T03:39:12.123Z') // '2026-11-23 03:39:12.123' */
export function formatMoment(iso: string): string {
  return iso.slice(0, 23).replace('T', ' ');
}

/** @example formatTime('2026-11-23T03:39:12.000Z') // '2026-11-23 03:39' */
export function formatTime(iso: string | null | undefined): string | null {
  return iso == null ? null : iso.slice(0, 16).replace('T', ' ');
}
