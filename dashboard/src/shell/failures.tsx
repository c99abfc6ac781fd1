// Pages for addresses that lead nowhere, and for pages that broke.
import { useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { useEffect } from 'react';
import { noteAway, whenItReturns } from '../api/connection.ts';
import { wordsOf } from '../api/failure.ts';
import { ButtonLink } from '../components/button.tsx';
import { EmptyState, ErrorState } from '../components/notice.tsx';
import { Page } from '../components/page.tsx';

export function NotFoundPage() {
  return (
    <Page title="There is no such page">
      <EmptyState title="This address leads nowhere" action={<ButtonLink to="/">To the projects</ButtonLink>}>
        The link may be an old one, or cut off.
      </EmptyState>
    </Page>
  );
}

const RELOADED_KEY = 'platform-reloaded-at';
const RELOAD_PAUSE_MS = 10_000;

export function PageFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const isUnloaded = /dynamically imported module|module script|error loading/i.test(wordsOf(error));
  useEffect(() => {
    if (!isUnloaded) return;
    // A platform that was upgraded has other files, and one that does not answer has none at the moment.
    if (navigator.onLine && reloadOnce()) return;
    noteAway();
    return whenItReturns(() => location.reload());
  }, [isUnloaded]);
  const retry = (): void => {
    if (isUnloaded) return location.reload();
    reset();
    void router.invalidate();
  };
  if (isUnloaded)
    return (
      <Page title="This page is not loaded yet">
        <ErrorState
          title="The files of this page could not be loaded"
          error={new Error('The platform did not answer, or it has just been upgraded.')}
          onRetry={retry}
        />
      </Page>
    );
  return (
    <Page title="This page broke">
      <ErrorState title="This page could not be shown" error={error} onRetry={retry} />
    </Page>
  );
}

/** Reloads the page, unless it has just done so. @returns whether it does. */
function reloadOnce(): boolean {
  try {
    if (Date.now() - Number(sessionStorage.getItem(RELOADED_KEY) ?? 0) < RELOAD_PAUSE_MS) return false;
    sessionStorage.setItem(RELOADED_KEY, String(Date.now()));
  } catch {
    return false;
  }
  location.reload();
  return true;
}
