// Pages for addresses that lead nowhere, and for pages that broke.
import { useRouter, type ErrorComponentProps } from '@tanstack/react-router';
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

export function PageFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const retry = (): void => {
    // A new version of the platform has other files: what this page wants to load may be gone.
    if (/dynamically imported module|module script/i.test(wordsOf(error))) return location.reload();
    reset();
    void router.invalidate();
  };
  return (
    <Page title="This page broke">
      <ErrorState title="This page could not be shown" error={error} onRetry={retry} />
    </Page>
  );
}
