// Renders its children once the project is loaded.
import type { ReactNode } from 'react';
import { ErrorState } from '../components/notice.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import type { Project } from '../queries/account.ts';
import { useProject } from './use-place.ts';

/** @example <Page title="Logs"><WithProject>{(project) => <Lines project={project} />}</WithProject></Page> */
export function WithProject({ children }: { readonly children: (project: Project) => ReactNode }) {
  const { data: project, error, refetch } = useProject();
  if (project !== undefined) return children(project);
  if (error === null) return <SkeletonRows />;
  return <ErrorState title="Could not load the project" error={error} onRetry={() => void refetch()} />;
}
