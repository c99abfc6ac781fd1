// A list of very many rows, of which only those in view are in the page. It scrolls by itself to its end while it is
// followed, until the reader scrolls away.
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, type ReactNode } from 'react';

const OVERSCAN_ROWS = 20;
/** So near to its end, a list counts as followed. */
const NEAR_END_PX = 40;

interface VirtualListProps<Item> {
  readonly label: string;
  readonly items: readonly Item[];
  readonly itemKey: (item: Item, at: number) => string | number;
  /** Height of a row before it is measured. */
  readonly rowPx: number;
  /** Of the list; any length of CSS. */
  readonly height: string;
  /** Stays at the end when items come. */
  readonly isFollowing?: boolean;
  /** The reader has left the end, or come back to it. */
  readonly onFollow?: (isFollowing: boolean) => void;
  /** The row that is scrolled into view when this changes. */
  readonly shownIndex?: number | null;
  readonly className?: string;
  readonly children: (item: Item, at: number) => ReactNode;
}

export function VirtualList<Item>(props: VirtualListProps<Item>) {
  const {
    label,
    items,
    itemKey,
    rowPx,
    height,
    isFollowing = false,
    onFollow,
    shownIndex = null,
    className,
    children,
  } = props;
  const frame = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowPx,
    overscan: OVERSCAN_ROWS,
    getItemKey: (at) => itemKey(items[at]!, at),
  });
  useEffect(() => {
    if (isFollowing && items.length > 0) rows.scrollToIndex(items.length - 1, { align: 'end' });
  }, [isFollowing, items.length, rows]);
  useEffect(() => {
    if (shownIndex !== null && shownIndex >= 0) rows.scrollToIndex(shownIndex, { align: 'center' });
  }, [shownIndex, rows]);
  const look = (): void => {
    const { scrollHeight, scrollTop, clientHeight } = frame.current!;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    if (isNear !== isFollowing) onFollow?.(isNear);
  };
  return (
    <div
      ref={frame}
      className={className}
      role="log"
      aria-label={label}
      aria-live="off"
      tabIndex={0}
      style={{ maxHeight: height, overflow: 'auto', contain: 'strict', height }}
      // Only what the reader does may end the following: what comes scrolls as well.
      onWheel={look}
      onTouchMove={look}
      onKeyUp={look}
      onPointerUp={look}
    >
      <div style={{ height: rows.getTotalSize(), position: 'relative' }}>
        {rows.getVirtualItems().map(({ key, index, start }) => (
          <div
            key={key}
            data-index={index}
            ref={rows.measureElement}
            style={{ position: 'absolute', insetInline: 0, top: 0, transform: `translateY(${start}px)` }}
          >
            {children(items[index]!, index)}
          </div>
        ))}
      </div>
    </div>
  );
}
