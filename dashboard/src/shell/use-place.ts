// Project and branch of the current URL.
import { useQuery } from '@tanstack/react-query';
import { useParams, useRouterState } from '@tanstack/react-router';
import { api, dataOf } from '../api/client.ts';
import { projectQuery, type Project } from '../queries/account.ts';
import { mode } from '../state/mode.ts';

/** The project of the URL, null on other pages; `ref` is its name or ID in the URL. */
export function usePlace(): {
  readonly ref: string | null;
  readonly project: Project | null;
  readonly error: Error | null;
} {
  const params = useParams({ strict: false }) as { project?: string; deployment?: string };
  const ofDeployment = useQuery({
    queryKey: ['deployment', params.deployment],
    queryFn: ({ signal }) => dataOf(api.get('/deployments/:id', { params: { id: params.deployment! }, signal })),
    enabled: params.deployment !== undefined && mode === 'production',
  });
  const ref = params.project ?? ofDeployment.data?.projectId ?? null;
  const { data, error } = useQuery({ ...projectQuery(ref ?? ''), enabled: ref !== null });
  return { ref: data?.name ?? params.project ?? null, project: data ?? null, error };
}

/** The project of a page below `/projects/$project`; `undefined` until loaded. */
export function useProject() {
  const { project: ref } = useParams({ strict: false }) as { project?: string };
  return useQuery({ ...projectQuery(ref ?? ''), enabled: ref !== undefined });
}

/**
 * The preview branch whose resources a page shows; `null` is production. The branch is in the URL as `?branch=`, and
 * the switch in the top bar changes it.
 */
export function useBranch(): string | null {
  const search = useRouterState({ select: ({ location }) => location.search as { branch?: unknown } });
  return typeof search.branch === 'string' && search.branch !== '' ? search.branch : null;
}
