// Source lines around a position, for errors of a build, a configuration or a worker. Pure.

/**
 * The numbered lines around a position, with a caret below the column.
 *
 * @param line from 1  @param column from 1
 */
export function codeFrame(source: string, line: number, column: number): string {
  const lines = source.split(/\r?\n/);
  const first = Math.max(1, line - 2);
  const last = Math.min(lines.length, line + 2);
  const width = String(last).length;
  const framed: string[] = [];
  for (let number = first; number <= last; number++) {
    const text = shorten(lines[number - 1] ?? '', number === line ? column : 1);
    framed.push(`${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${text.text}`.trimEnd());
    if (number === line) framed.push(`  ${' '.repeat(width)} | ${' '.repeat(Math.max(0, text.column - 1))}^`);
  }
  return framed.join('\n');
}

/**
 * Shortens minified lines to at most 160 characters around the column. Tabs become one space, so that the caret aligns.
 */
function shorten(line: string, column: number): { text: string; column: number } {
  const plain = line.replaceAll('\t', ' ');
  if (plain.length <= 160) return { text: plain, column };
  const start = Math.max(0, column - 80);
  return { text: plain.slice(start, start + 160), column: column - start };
}
