// Markdown that the generated pages are made of. Pure.

/** A table; bars in a cell are written so that they end none. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A text in code marks, also one that holds some. */
export function code(text: string): string {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``;
}

/** Says on each generated page where it comes from. */
export function madeFrom(source: string): string {
  return `*Made from ${code(source)} when this site was built.*`;
}
