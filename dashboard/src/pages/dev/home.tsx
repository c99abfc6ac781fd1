// The start page of `platform dev`: redirects to the project.
import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { ErrorState } from '../../components/notice.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { projectQuery } from '../../queries/account.ts';

export function DevHome() {
  const { data, error, refetch } = useQuery(projectQuery('dev'));
  if (error !== null)
    return <ErrorState title="Could not load the project" error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <SkeletonRows />;
  return <Navigate to="/projects/$project" params={{ project: data.name }} replace />;
}
