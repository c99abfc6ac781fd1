// Rows of a table to render: all of a short table, those near the viewport of a long one.
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useState, type RefObject } from 'react';

/** Tables with more rows are virtualized. */
const WHOLE_MAX = 200;
const OVERSCAN_ROWS = 30;
const ROW_PX = 37;

interface ShownRows {
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

export function useShownRows(count: number, body: RefObject<HTMLElement | null>): ShownRows {
  const isPart = count > WHOLE_MAX;
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    if (isPart && body.current !== null) setTop(body.current.getBoundingClientRect().top + scrollY);
  }, [isPart, body]);
  const rows = useWindowVirtualizer({
    count: isPart ? count : 0,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN_ROWS,
    scrollMargin: top,
  });
  if (!isPart) return { from: 0, to: count, beforePx: 0, afterPx: 0, isPart, measure: undefined };
  const items = rows.getVirtualItems();
  const [first, last] = [items[0], items.at(-1)];
  return {
    from: first?.index ?? 0,
    to: (last?.index ?? -1) + 1,
    beforePx: (first?.start ?? top) - top,
    afterPx: rows.getTotalSize() - ((last?.end ?? top) - top),
    isPart,
    measure: rows.measureElement,
  };
}
