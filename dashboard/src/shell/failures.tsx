// Pages for unknown URLs, and for errors during rendering.
import { useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { useEffect } from 'react';
import { noteAway, whenItReturns } from '../api/connection.ts';
import { ButtonLink } from '../components/button.tsx';
import { EmptyState, ErrorState } from '../components/notice.tsx';
import { Page } from '../components/page.tsx';
import { isUnloaded, reloadOnce } from './reload.ts';

export function NotFoundPage() {
  return (
    <Page title="Page not found">
      <EmptyState title="No page at this URL" action={<ButtonLink to="/">Go to projects</ButtonLink>}>
        The link may be outdated or incomplete.
      </EmptyState>
    </Page>
  );
}

export function PageFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const isFileMissing = isUnloaded(error);
  useEffect(() => {
    if (!isFileMissing) return;
    // A reload helps after an upgrade, which changes the file names, and after a restart of the platform.
    if (navigator.onLine && reloadOnce()) return;
    noteAway();
    return whenItReturns(() => location.reload());
  }, [isFileMissing]);
  const retry = (): void => {
    if (isFileMissing) return location.reload();
    reset();
    void router.invalidate();
  };
  if (isFileMissing)
    return (
      <Page title="Page not loaded">
        <ErrorState
          title="Could not load the files of this page"
          error={new Error('The platform is not responding, or was just upgraded.')}
          onRetry={retry}
        />
      </Page>
    );
  return (
    <Page title="Something went wrong">
      <ErrorState title="Could not show this page" error={error} onRetry={retry} />
    </Page>
  );
}
