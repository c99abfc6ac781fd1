// A virtualized list. While following, the list scrolls to new items until the user scrolls away. Items that are added
// before the first one do not move what is in view.
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, type ReactNode } from 'react';
import { joined } from './class-names.ts';
import styles from './virtual-list.module.css';

const OVERSCAN_ROWS = 20;
/** Distance from the end within which a list follows. */
const NEAR_END_PX = 40;
/** Distance from the start within which earlier items are loaded. */
const NEAR_START_PX = 200;

interface VirtualListProps<Item> {
  readonly label: string;
  readonly items: readonly Item[];
  readonly itemKey: (item: Item, at: number) => string | number;
  /** Estimated height of a row. */
  readonly rowPx: number;
  /** Height of the list, a CSS length; by default, the list fills the rest of a page that is `isFull`. */
  readonly height?: string;
  /** Whether the list scrolls to new items. */
  readonly isFollowing?: boolean;
  /** Called when the user leaves the end or returns to it. */
  readonly onFollow?: (isFollowing: boolean) => void;
  /** Called when the user is near the start, to load earlier items. */
  readonly onStart?: () => void;
  /** Index of an item, which is scrolled into view when this value changes. */
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
    onStart,
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
  const totalPx = rows.getTotalSize();
  const lastKey = items.length === 0 ? null : itemKey(items.at(-1)!, items.length - 1);
  // The effect also runs when rows have been measured, because that changes the total height.
  useLayoutEffect(() => {
    if (isFollowing) frame.current!.scrollTop = frame.current!.scrollHeight;
  }, [isFollowing, lastKey, totalPx]);
  const firstKey = items.length === 0 ? null : itemKey(items[0]!, 0);
  const knownFirst = useRef(firstKey);
  useLayoutEffect(() => {
    const before = items.findIndex((item, at) => itemKey(item, at) === knownFirst.current);
    knownFirst.current = firstKey;
    if (before > 0 && !isFollowing) frame.current!.scrollTop += rows.measurementsCache[before]?.start ?? 0;
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- only when the first item changes
  }, [firstKey]);
  useEffect(() => {
    if (shownIndex !== null && shownIndex >= 0) rows.scrollToIndex(shownIndex, { align: 'center' });
  }, [shownIndex, rows]);
  const look = (): void => {
    const { scrollHeight, scrollTop, clientHeight } = frame.current!;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    if (isNear !== isFollowing) onFollow?.(isNear);
    if (scrollTop < NEAR_START_PX) onStart?.();
  };
  return (
    <div
      ref={frame}
      className={joined(styles.frame, height === undefined && styles.fills, className)}
      role="log"
      aria-label={label}
      aria-live="off"
      tabIndex={0}
      style={{ height }}
      // Only user input ends following, because new items cause scroll events, too.
      onWheel={look}
      onTouchMove={look}
      onKeyUp={look}
      onPointerUp={look}
    >
      <div style={{ height: totalPx, position: 'relative' }}>
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
