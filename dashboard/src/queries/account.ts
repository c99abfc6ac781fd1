// The signed-in user and their projects.
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';
import { ApiFailure } from '../api/failure.ts';
import { mode } from '../state/mode.ts';
import { devProject } from './dev-project.ts';

const PAGE = 100;
/** Maximum number of projects in the switcher; search finds the others. */
const PROJECTS_SHOWN_MAX = 500;

export const userQuery = queryOptions({
  queryKey: ['user'],
  queryFn: ({ signal }) => dataOf(api.get('/user', { signal })),
  staleTime: 60_000,
});

/** A project. */
export type Project = Awaited<ReturnType<typeof readProject>>;
const readProject = (id: string, signal?: AbortSignal) =>
  dataOf(api.get('/projects/:id', { params: { id }, ...(signal && { signal }) }));

const readProjects = (search: string, cursor: string | undefined, signal: AbortSignal) => {
  const query = { limit: PAGE, ...(search !== '' && { search }), ...(cursor !== undefined && { cursor }) };
  return dataOf(api.get('/projects', { query, signal }));
};

/** A project with its last deployment. */
export type ListedProject = Awaited<ReturnType<typeof readProjects>>['items'][number];

/** Projects of all organizations of the account, the last deployed first. @param search part of a name. */
export const projectsQuery = (search = '') =>
  queryOptions({
    queryKey: ['projects', search],
    queryFn: ({ signal }) => projectsWith(search, signal),
  });

async function projectsWith(search: string, signal: AbortSignal): Promise<readonly ListedProject[]> {
  const found: ListedProject[] = [];
  let cursor: string | undefined;
  do {
    const page = await readProjects(search, cursor, signal);
    found.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined && found.length < PROJECTS_SHOWN_MAX);
  return found;
}

/** Icons of the live sites, by project. Icons change only with the deployment of production. */
export const projectIconsQuery = (projects: readonly ListedProject[]) => {
  const live = projects.flatMap(({ productionDeploymentId }) => productionDeploymentId ?? []);
  return queryOptions({
    queryKey: ['project-icons', live.toSorted()],
    queryFn: async ({ signal }): Promise<ReadonlyMap<string, string>> => {
      const { items } = await dataOf(api.get('/projects/icons', { signal }));
      return new Map(items.map(({ projectId, icon }) => [projectId, icon]));
    },
    enabled: live.length > 0,
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  });
};

/** A project by name or ID; under `platform dev`, the only project. */
export const projectQuery = (ref: string) =>
  queryOptions({
    queryKey: ['project', ref],
    queryFn: async ({ signal }): Promise<Project> => {
      if (mode === 'dev') return devProject(signal);
      if (PROJECT_ID.test(ref)) return readProject(ref, signal);
      const found = (await projectsWith(ref, signal)).find(({ name }) => name === ref);
      if (found !== undefined) return found;
      throw new ApiFailure(404, 'not_found', `No project named ${ref}`, null);
    },
    staleTime: 15_000,
  });

/** IDs contain an underscore, names do not. */
const PROJECT_ID = /^[a-z]+_[0-9A-Za-z]+$/;
