// A table of records. On a phone each row becomes two lines: what is `first`, then the rest that is not hidden.
import { useRef, type KeyboardEvent, type MouseEvent, type ReactNode } from 'react';
import { joined } from './class-names.ts';
import styles from './table.module.css';

/** A column of rows. */
export interface Column<Row> {
  readonly id: string;
  /** Its heading; one that is empty says nothing to anybody: give actions a name. */
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** Numbers stand at the end. */
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
  const onKeyDown = (event: KeyboardEvent<HTMLTableRowElement>, row: Row): void => {
    if (event.target !== event.currentTarget) return;
    if (event.key === 'Enter') onOpen?.(row);
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const all = [...(body.current?.rows ?? [])];
    all[all.indexOf(event.currentTarget) + step]?.focus();
    event.preventDefault();
  };
  return (
    <div className={styles.wrap}>
      {/* Roles by name: a phone's layout takes those of the elements away. */}
      <table className={styles.table} role="table" aria-label={label}>
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
          {rows.map((row) => {
            const key = rowKey(row);
            return (
              <tr
                key={key}
                role="row"
                className={onOpen && styles.opens}
                tabIndex={onOpen === undefined ? undefined : 0}
                aria-selected={selectedKey === null ? undefined : selectedKey === key}
                onClick={(event) => !isOfControl(event) && onOpen?.(row)}
                onKeyDown={(event) => onKeyDown(event, row)}
              >
                {columns.map(({ id, cell, align, isFitted, isExtra, phone }) => (
                  <td
                    key={id}
                    role="cell"
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
        </tbody>
      </table>
    </div>
  );
}

/** Whether what was pressed does something by itself, or a text of the row was being marked. */
function isOfControl(event: MouseEvent<HTMLElement>): boolean {
  const target = event.target as HTMLElement;
  // What a menu shows lies elsewhere in the page, but its events come through the row.
  if (!event.currentTarget.contains(target)) return true;
  return target.closest('a, button, input, select, label') !== null || String(getSelection()) !== '';
}
