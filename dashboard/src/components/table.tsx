// A table of records. On a phone each row becomes two lines: what is `first`, then the rest that is not hidden. Of very
// many rows only those near the view are in the page.
import { useRef, type KeyboardEvent, type MouseEvent, type ReactNode } from 'react';
import { joined } from './class-names.ts';
import styles from './table.module.css';
import { useShownRows } from './use-shown-rows.ts';

/** A column of rows. */
export interface Column<Row> {
  readonly id: string;
  /** Its heading; one that is empty says nothing to anybody: give actions a name. */
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** Numbers stand at the end; on a phone they have their heading before them. */
  readonly align?: 'start' | 'end';
  /** As wide as what it holds; the other columns share the rest. */
  readonly isFitted?: boolean;
  /** Of the width that columns share, such as `30%`; evenly where none says. */
  readonly width?: string;
  /** Left out where the table has less than 860 pixels. */
  readonly isExtra?: boolean;
  /** Where it is on a phone: in the first line, at the end of that, in the second (by default), or nowhere. */
  readonly phone?: 'first' | 'first-end' | 'second' | 'hidden';
  /** Shown to screen readers alone. */
  readonly isHeaderHidden?: boolean;
}

interface TableProps<Row> {
  /** What it lists, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** What pressing a row, or Enter on it, does. Links inside of it still lead where they lead. */
  readonly onOpen?: (row: Row) => void;
  /** Key of the row whose details are open. */
  readonly selectedKey?: string | null;
}

/** @example <Table label="Deployments" columns={columns} rows={rows} rowKey={({ id }) => id} onOpen={open} /> */
export function Table<Row>({ label, columns, rows, rowKey, onOpen, selectedKey = null }: TableProps<Row>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const shown = useShownRows(rows.length, body);
  const onKeyDown = (event: KeyboardEvent<HTMLTableRowElement>, row: Row): void => {
    if (event.target !== event.currentTarget) return;
    if (event.key === 'Enter') onOpen?.(row);
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const next = step === 1 ? event.currentTarget.nextElementSibling : event.currentTarget.previousElementSibling;
    (next as HTMLElement | null)?.focus();
    event.preventDefault();
  };
  return (
    <div className={styles.wrap}>
      {/* Roles by name: a phone's layout takes those of the elements away. */}
      <table
        className={styles.table}
        role="table"
        aria-label={label}
        aria-rowcount={shown.isPart ? rows.length + 1 : undefined}
      >
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ id, header, align, isFitted, isExtra, isHeaderHidden, width }) => (
              <th
                key={id}
                role="columnheader"
                scope="col"
                style={width === undefined ? undefined : { width }}
                className={joined(align === 'end' && styles.end, isFitted && styles.fit, isExtra && styles.extra)}
              >
                {isHeaderHidden ? <span className="visually-hidden">{header}</span> : header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" ref={body}>
          <Gap px={shown.beforePx} />
          {rows.slice(shown.from, shown.to).map((row, at) => {
            const key = rowKey(row);
            return (
              <tr
                key={key}
                ref={shown.measure}
                data-index={shown.from + at}
                role="row"
                aria-rowindex={shown.isPart ? shown.from + at + 2 : undefined}
                className={onOpen && styles.opens}
                tabIndex={onOpen === undefined ? undefined : 0}
                aria-selected={selectedKey === null ? undefined : selectedKey === key}
                onClick={(event) => !isOfControl(event) && onOpen?.(row)}
                onKeyDown={(event) => onKeyDown(event, row)}
              >
                {columns.map(({ id, header, cell, align, isFitted, isExtra, phone }) => (
                  <td
                    key={id}
                    role="cell"
                    data-label={align === 'end' ? header : undefined}
                    className={joined(
                      align === 'end' && styles.end,
                      isFitted && styles.fit,
                      isExtra && styles.extra,
                      phone === 'first' && styles.first,
                      phone === 'first-end' && styles.firstEnd,
                      phone === 'hidden' && styles.hidden,
                    )}
                  >
                    {cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          <Gap px={shown.afterPx} />
        </tbody>
      </table>
    </div>
  );
}

/** Stands for rows that are not in the page. */
function Gap({ px }: { readonly px: number }) {
  return px === 0 ? null : (
    <tr aria-hidden className={styles.gap}>
      <td style={{ height: px }} />
    </tr>
  );
}

/** Whether what was pressed does something by itself, or a text of the row was being marked. */
function isOfControl(event: MouseEvent<HTMLElement>): boolean {
  const target = event.target as HTMLElement;
  // What a menu shows lies elsewhere in the page, but its events come through the row.
  if (!event.currentTarget.contains(target)) return true;
  return target.closest('a, button, input, select, label') !== null || String(getSelection()) !== '';
}
