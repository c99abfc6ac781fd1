// Page tabs: links with a URL each.
import { createLink, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, type ComponentPropsWithRef, type ReactNode } from 'react';
import { joined } from './class-names.ts';
import styles from './tabs.module.css';

interface TabLinksProps {
  readonly label: string;
  /** Tabs below the page's own tabs, shown without a line. */
  readonly isInner?: boolean;
  readonly children: ReactNode;
}

/** A row of page tabs. @example <TabLinks label="Storage"><TabLink to="...">Databases</TabLink></TabLinks> */
export function TabLinks({ label, isInner = false, children }: TabLinksProps) {
  const row = useRef<HTMLElement>(null);
  const address = useRouterState({ select: ({ location }) => location.href });
  // If the row is too narrow, it scrolls, with the current tab in the middle, also after the window is resized.
  useEffect(() => {
    const element = row.current!;
    const follow = (): void => {
      const shown = element.querySelector<HTMLElement>('[aria-current]');
      if (shown !== null) element.scrollLeft = shown.offsetLeft - (element.clientWidth - shown.offsetWidth) / 2;
      markHidden(element);
    };
    const observer = new ResizeObserver(follow);
    observer.observe(element);
    return () => observer.disconnect();
  }, [address]);
  return (
    <nav
      ref={row}
      aria-label={label}
      className={joined(styles.tabs, !isInner && styles.lined)}
      onScroll={({ currentTarget }) => markHidden(currentTarget)}
    >
      {children}
    </nav>
  );
}

/** Marks the sides on which a row has hidden tabs, so that they fade out. */
function markHidden(row: HTMLElement): void {
  row.toggleAttribute('data-more-before', row.scrollLeft > 1);
  row.toggleAttribute('data-more-after', row.scrollLeft + row.clientWidth < row.scrollWidth - 1);
}

function Anchor({ children, ...rest }: ComponentPropsWithRef<'a'>) {
  return (
    <a {...rest} className={styles.tab}>
      {children}
    </a>
  );
}

/** A page tab; the current one is marked. */
export const TabLink = createLink(Anchor);
