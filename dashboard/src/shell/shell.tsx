// Layout around every page: sidebar (a sheet on small screens), top bar, command palette, keyboard shortcuts.
import { HamburgerMenuIcon, MagnifyingGlassIcon } from '@radix-ui/react-icons';
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { useIsAway } from '../api/connection.ts';
import { signIn, useHasSessionEnded } from '../api/session.ts';
import { Button, IconButton } from '../components/button.tsx';
import { ProjectName } from '../components/page.tsx';
import { mode } from '../state/mode.ts';
import { BranchSwitch } from './branch-switch.tsx';
import { Breadcrumb } from './breadcrumb.tsx';
import { Navigation } from './navigation.tsx';
import { navigationEntries } from './navigation-entries.ts';
import { focusRow } from './row-keys.ts';
import styles from './shell.module.css';
import { useShortcuts } from './shortcuts.ts';
import { usePlace } from './use-place.ts';

const NavigationSheet = lazy(() => import('./navigation-sheet.tsx'));
const Palette = lazy(() => import('./palette.tsx'));
const ShortcutHelp = lazy(() => import('./shortcut-help.tsx'));

export function Shell() {
  const [opened, setOpened] = useState<'navigation' | 'palette' | 'help' | null>(null);
  const isAway = useIsAway();
  const hasSessionEnded = useHasSessionEnded();
  const navigate = useNavigate();
  const { ref } = usePlace();
  const close = (): void => setOpened(null);
  useShortcuts([
    { keys: 'mod+k', does: 'Search pages, projects and actions', act: () => setOpened('palette') },
    { keys: 'j', does: 'Next row', act: () => focusRow(1) },
    { keys: 'k', does: 'Previous row', act: () => focusRow(-1) },
    { keys: '?', does: 'Show keyboard shortcuts', act: () => setOpened('help') },
    ...(mode === 'production' ? [{ keys: 'g p', does: 'Go to Projects', act: () => void navigate({ to: '/' }) }] : []),
    ...(ref === null
      ? []
      : navigationEntries
          .filter((entry) => entry.modes.includes(mode))
          .map(({ key, title, path }) => ({
            keys: `g ${key}`,
            does: `Go to ${title}`,
            act: () => void navigate({ to: `/projects/${ref}/${path}` }),
          }))),
  ]);
  // Close the sheet after navigation.
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const [shownPath, setShownPath] = useState(path);
  if (shownPath !== path) {
    setShownPath(path);
    if (opened === 'navigation') setOpened(null);
  }
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#main">
        Skip to content
      </a>
      <aside className={styles.left} aria-label="Sidebar">
        <Navigation />
      </aside>
      <div className={styles.right}>
        <header className={styles.top}>
          <IconButton label="Navigation" className={styles.menuButton} onClick={() => setOpened('navigation')}>
            <HamburgerMenuIcon />
          </IconButton>
          <Breadcrumb />
          <BranchSwitch />
          <Button className={styles.search} onClick={() => setOpened('palette')}>
            <MagnifyingGlassIcon />
            <span className="visually-hidden">Search pages, projects and actions:</span>
            <span className={styles.word}>Search…</span>
            <kbd>Ctrl K</kbd>
          </Button>
        </header>
        {isAway && (
          <div className={styles.banner} role="status">
            The platform is not responding. Reconnecting…
          </div>
        )}
        {hasSessionEnded && (
          <div className={styles.banner} role="status">
            Your session has expired. Sign in to continue.
            <Button size="small" onClick={signIn}>
              Sign in
            </Button>
          </div>
        )}
        <main id="main" className={styles.main} tabIndex={-1}>
          <ProjectName value={ref}>
            <Outlet />
          </ProjectName>
        </main>
      </div>
      <Suspense>
        {opened === 'navigation' && <NavigationSheet onClose={close} />}
        {opened === 'palette' && <Palette onClose={close} />}
        {opened === 'help' && <ShortcutHelp onClose={close} />}
      </Suspense>
    </div>
  );
}
