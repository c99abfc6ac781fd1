// Renders its children once the project is loaded.
import type { ReactNode } from 'react';
import { Unloaded } from '../components/unloaded.tsx';
import type { Project } from '../queries/account.ts';
import { useProject } from './use-place.ts';

/** @example <Page title="Logs"><WithProject>{(project) => <Lines project={project} />}</WithProject></Page> */
export function WithProject({ children }: { readonly children: (project: Project) => ReactNode }) {
  const { data: project, error, refetch } = useProject();
  if (project !== undefined) return children(project);
  return <Unloaded one="project" error={error} refetch={refetch} />;
}
