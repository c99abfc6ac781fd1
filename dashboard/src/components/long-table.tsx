// A table that renders only the rows near the viewport. table.tsx loads it with the first long table.
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef, useState } from 'react';
import { TableFrame, type TableProps } from './table-frame.tsx';

const OVERSCAN_ROWS = 30;
const ROW_PX = 37;

export default function LongTable<Row>(props: TableProps<Row>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    if (body.current !== null) setTop(body.current.getBoundingClientRect().top + scrollY);
  }, []);
  const rows = useWindowVirtualizer({
    count: props.rows.length,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN_ROWS,
    scrollMargin: top,
  });
  const items = rows.getVirtualItems();
  const [first, last] = [items[0], items.at(-1)];
  const shown = {
    from: first?.index ?? 0,
    to: (last?.index ?? -1) + 1,
    beforePx: (first?.start ?? top) - top,
    afterPx: rows.getTotalSize() - ((last?.end ?? top) - top),
    isPart: true,
    measure: rows.measureElement,
  };
  return <TableFrame {...props} shown={shown} body={body} />;
}
