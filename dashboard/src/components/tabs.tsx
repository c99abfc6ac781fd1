// Page tabs: links with a URL each.
import { createLink, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, type ComponentPropsWithRef, type ReactNode } from 'react';
import styles from './tabs.module.css';

/** A row of page tabs. @example <TabLinks label="Storage"><TabLink to="...">Databases</TabLink></TabLinks> */
export function TabLinks({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const row = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // On narrow screens the row scrolls: keep the current tab in view.
  useEffect(() => {
    const shown = row.current?.querySelector<HTMLElement>('[aria-current]');
    if (shown && row.current)
      row.current.scrollLeft = shown.offsetLeft - row.current.clientWidth + shown.offsetWidth + 40;
  }, [path]);
  return (
    <nav ref={row} aria-label={label} className={styles.tabs}>
      {children}
    </nav>
  );
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
