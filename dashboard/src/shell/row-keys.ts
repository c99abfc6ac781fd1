// Moves the focus between the rows of a page's lists, for the shortcuts `j` and `k`.

/** Rows of tables that open something (table.tsx), and of logs. */
const ROWS = 'main tr[tabindex="0"], main [role="log"] button[data-row]:enabled';

/** Focuses the next row (1) or the previous row (-1); without a focused row, the selected row or the first row. */
export function focusRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)];
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const selected = rows.find((row) => row.ariaSelected === 'true');
  const next = at === -1 ? (selected ?? rows[0]) : rows[at + step];
  next?.focus();
}
