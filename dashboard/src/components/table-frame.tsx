// The frame and rows of a table. table.tsx renders short tables, long-table.tsx long ones.
import type { KeyboardEvent, MouseEvent, ReactNode, Ref } from 'react';
import { joined } from './class-names.ts';
import styles from './table.module.css';

/** A column. */
export interface Column<Row> {
  readonly id: string;
  /** The heading; must not be empty, also for actions. */
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** `end` is for numbers; on phones, the heading is shown before each number. */
  readonly align?: 'start' | 'end';
  /** On phones, the heading is shown before the value, which is not clear without it. */
  readonly isLabelled?: boolean;
  /** Whether the column is as wide as its content; the other columns share the rest. */
  readonly isFitted?: boolean;
  /** Share of the remaining width, such as `30%`; by default, all columns get the same share. */
  readonly width?: string;
  /** Whether the column is hidden if the table is narrower than 860 pixels. */
  readonly isExtra?: boolean;
  /** Position on phones: first line, end of the first line, second line (default), or hidden. */
  readonly phone?: 'first' | 'first-end' | 'second' | 'hidden';
  /** Whether only screen readers read the heading. */
  readonly isHeaderHidden?: boolean;
}

export interface TableProps<Row> {
  /** Accessible name. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Buttons or the menu of a row, in the last column. The heading of that column is only for screen readers. */
  readonly actions?: ((row: Row) => ReactNode) | undefined;
  /** Called on a click on a row, or Enter. Links inside a row keep working. */
  readonly onOpen?: (row: Row) => void;
  /** Key of the open row. */
  readonly selectedKey?: string | null;
}

const ACTIONS_COLUMN = {
  id: 'actions',
  header: 'Actions',
  isHeaderHidden: true,
  isFitted: true,
  phone: 'first-end',
} as const;

/** Rows to render. */
export interface ShownRows {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  /** Height of the rows above and below that are not rendered. */
  readonly beforePx: number;
  readonly afterPx: number;
  readonly isPart: boolean;
  /** The `ref` of each row, which needs `data-index`. */
  readonly measure: ((row: HTMLElement | null) => void) | undefined;
}

interface TableFrameProps<Row> extends TableProps<Row> {
  readonly shown: ShownRows;
  /** Ref of the element that contains the rows. */
  readonly body?: Ref<HTMLTableSectionElement>;
}

export function TableFrame<Row>(props: TableFrameProps<Row>) {
  const { label, rows, rowKey, actions, onOpen, selectedKey = null, shown, body } = props;
  const columns = actions === undefined ? props.columns : [...props.columns, { ...ACTIONS_COLUMN, cell: actions }];
  const onKeyDown = (event: KeyboardEvent<HTMLTableRowElement>, row: Row): void => {
    if (event.target !== event.currentTarget) return;
    if (event.key === 'Enter') onOpen?.(row);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const next = step === 1 ? event.currentTarget.nextElementSibling : event.currentTarget.previousElementSibling;
    (next as HTMLElement | null)?.focus();
    event.preventDefault();
  };
  return (
    <div className={styles.wrap}>
      {/* Explicit roles: the phone layout removes the implicit ones. */}
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
                {columns.map(({ id, header, cell, align, isLabelled = align === 'end', isFitted, isExtra, phone }) => (
                  <td
                    key={id}
                    role="cell"
                    data-label={isLabelled ? header : undefined}
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

/** Space of rows that are not rendered. */
function Gap({ px }: { readonly px: number }) {
  return px === 0 ? null : (
    <tr aria-hidden className={styles.gap}>
      <td style={{ height: px }} />
    </tr>
  );
}

/** Whether the click hit a control, or ended a text selection. */
function isOfControl(event: MouseEvent<HTMLElement>): boolean {
  const target = event.target as HTMLElement;
  // Menus are portals: React still bubbles their events through the row.
  if (!event.currentTarget.contains(target)) return true;
  return target.closest('a, button, input, select, label') !== null || String(getSelection()) !== '';
}
