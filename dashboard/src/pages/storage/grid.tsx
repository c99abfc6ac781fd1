// A virtualized grid of database rows with one-line values.
import { CaretDownIcon, CaretUpIcon } from '@radix-ui/react-icons';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, type KeyboardEvent } from 'react';
import { joined } from '../../components/class-names.ts';
import styles from './grid.module.css';
import { cellText, isNumeric, type Cell } from './value.tsx';

const ROW_PX = 32;
const CHAR_PX = 8;
const CELL_PX_LEAST = 72;
const CELL_PX_MAX = 320;
/** Rows measured for the column widths. */
const MEASURED_ROWS = 30;

interface GridProps {
  readonly label: string;
  readonly columns: readonly { readonly name: string; readonly type?: string; readonly isKey?: boolean }[];
  readonly rows: readonly (readonly Cell[])[];
  readonly order?: { readonly column: string; readonly isDescending: boolean } | null;
  readonly onOrder?: (column: string) => void;
  /** Called with the column when a cell is clicked, and with null when Enter is pressed on a row. */
  readonly onOpen?: (at: number, column: string | null) => void;
  readonly selected?: number | null;
}

export function Grid({ label, columns, rows, order = null, onOrder, onOpen, selected = null }: GridProps) {
  const frame = useRef<HTMLDivElement>(null);
  const widths = useMemo(
    () =>
      columns.map(({ name, type = '' }, at) => {
        const chars = rows
          .slice(0, MEASURED_ROWS)
          .reduce((most, row) => Math.max(most, cellText(row[at] ?? null).length), name.length + type.length + 3);
        return Math.min(Math.max(chars * CHAR_PX + 24, CELL_PX_LEAST), CELL_PX_MAX);
      }),
    [columns, rows],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    overscan: 15,
  });
  const gridTemplateColumns = `${widths.map((width) => `minmax(${width}px, ${width}fr)`).join(' ')}`;
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>, at: number): void => {
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter' || event.key === ' ') onOpen?.(at, null);
    else if (step === undefined) return;
    else {
      const next = Math.min(Math.max(at + step, 0), rows.length - 1);
      virtual.scrollToIndex(next);
      frame.current?.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus();
    }
    event.preventDefault();
  };
  return (
    <div
      ref={frame}
      className={styles.frame}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      tabIndex={0}
    >
      <div className={styles.inside} role="presentation">
        <div className={styles.head} role="row" aria-rowindex={1} style={{ gridTemplateColumns }}>
          {columns.map(({ name, type = '', isKey = false }) => {
            const inside = (
              <>
                <span title={type === '' ? name : `${name} ${type}`}>{name}</span>
                <span className={styles.type}>{isKey ? `${type} key` : type}</span>
                {order?.column === name && (order.isDescending ? <CaretDownIcon /> : <CaretUpIcon />)}
              </>
            );
            const sorted = order?.column === name ? (order.isDescending ? 'descending' : 'ascending') : undefined;
            return (
              <div key={name} role="columnheader" aria-sort={sorted}>
                {onOrder === undefined ? (
                  <div className={styles.name}>{inside}</div>
                ) : (
                  <button type="button" className={styles.name} onClick={() => onOrder(name)} style={{ width: '100%' }}>
                    {inside}
                  </button>
                )}
              </div>
            );
          })}
        </div>
        <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {virtual.getVirtualItems().map(({ index, start }) => (
            <div
              key={index}
              data-index={index}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={selected === index}
              tabIndex={onOpen === undefined ? undefined : 0}
              className={joined(styles.row, onOpen && styles.opens)}
              style={{ gridTemplateColumns, transform: `translateY(${start}px)` }}
              onClick={({ target }) => onOpen?.(index, columnOf(target as HTMLElement))}
              onKeyDown={(event) => onKeyDown(event, index)}
            >
              {columns.map(({ name }, at) => {
                const cell = rows[index]?.[at] ?? null;
                return (
                  <div
                    key={name}
                    role="gridcell"
                    data-column={name}
                    className={joined(styles.cell, isNumeric(cell) && styles.end, cell === null && styles.null)}
                  >
                    <span>{cellText(cell)}</span>
                  </div>
                );
              })}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

/** The column of a cell, from an element in it. */
function columnOf(target: HTMLElement): string | null {
  return target.closest<HTMLElement>('[data-column]')?.dataset['column'] ?? null;
}
