// A virtualized list. While following, it scrolls to new items until the user scrolls away.
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, type ReactNode } from 'react';

const OVERSCAN_ROWS = 20;
/** Distance from the end within which a list follows. */
const NEAR_END_PX = 40;

interface VirtualListProps<Item> {
  readonly label: string;
  readonly items: readonly Item[];
  readonly itemKey: (item: Item, at: number) => string | number;
  /** Estimated height of a row. */
  readonly rowPx: number;
  /** Height of the list, a CSS length. */
  readonly height: string;
  /** Scrolls to new items. */
  readonly isFollowing?: boolean;
  /** Called when the user leaves the end or returns to it. */
  readonly onFollow?: (isFollowing: boolean) => void;
  /** Scrolled into view when it changes. */
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
      // Only user input ends following: new items scroll too.
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
