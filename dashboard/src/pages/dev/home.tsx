// The start page of `platform dev`: redirects to the project.
import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { projectQuery } from '../../queries/account.ts';
import { Unloaded } from '../../components/unloaded.tsx';

export function DevHome() {
  const { data, error, refetch } = useQuery(projectQuery('dev'));
  if (data === undefined) return <Unloaded one="project" error={error} refetch={refetch} />;
  return <Navigate to="/projects/$project" params={{ project: data.name }} replace />;
}
