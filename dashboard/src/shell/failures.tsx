// Pages for addresses that lead nowhere, and for pages that broke.
import { useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { useEffect } from 'react';
import { noteAway, whenItReturns } from '../api/connection.ts';
import { ButtonLink } from '../components/button.tsx';
import { EmptyState, ErrorState } from '../components/notice.tsx';
import { Page } from '../components/page.tsx';
import { isUnloaded, reloadOnce } from './reload.ts';

export function NotFoundPage() {
  return (
    <Page title="There is no such page">
      <EmptyState title="This address leads nowhere" action={<ButtonLink to="/">To the projects</ButtonLink>}>
        The link may be an old one, or cut off.
      </EmptyState>
    </Page>
  );
}

export function PageFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const isFileMissing = isUnloaded(error);
  useEffect(() => {
    if (!isFileMissing) return;
    // A platform that was upgraded has other files, and one that does not answer has none at the moment.
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
