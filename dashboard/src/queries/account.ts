// The signed-in user and their projects.
import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';
import { ApiFailure } from '../api/failure.ts';
import { mode } from '../mode.ts';
import { devProject } from './dev-project.ts';

const PAGE = 100;
/** The switcher lists at most these; search finds the others. */
const PROJECTS_SHOWN_MAX = 500;

export const userQuery = queryOptions({
  queryKey: ['user'],
  queryFn: ({ signal }) => dataOf(api.get('/user', { signal })),
  staleTime: 60_000,
});

export type User = Awaited<ReturnType<typeof readUser>>;
const readUser = () => dataOf(api.get('/user'));

export type Organization = User['organizations'][number];

/** A project. */
export type Project = Awaited<ReturnType<typeof readProject>>;
const readProject = (id: string, signal?: AbortSignal) =>
  dataOf(api.get('/projects/:id', { params: { id }, ...(signal && { signal }) }));

/** Projects of all organizations of the account, newest first. @param search part of a name. */
export const projectsQuery = (search = '') =>
  queryOptions({
    queryKey: ['projects', search],
    queryFn: async ({ signal, client }): Promise<readonly Project[]> => {
      const { organizations } = await client.ensureQueryData(userQuery);
      const lists = await Promise.all(organizations.map(({ id }) => projectsOf(id, search, signal)));
      return lists.flat().sort((one, other) => other.createdAt.localeCompare(one.createdAt));
    },
  });

async function projectsOf(id: string, search: string, signal: AbortSignal): Promise<Project[]> {
  const found: Project[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: PAGE, ...(search !== '' && { search }), ...(cursor !== undefined && { cursor }) };
    const page = await dataOf(api.get('/orgs/:id/projects', { params: { id }, query, signal }));
    found.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined && found.length < PROJECTS_SHOWN_MAX);
  return found;
}

/** A project by name or ID; under `platform dev`, the only project. */
export const projectQuery = (ref: string) =>
  queryOptions({
    queryKey: ['project', ref],
    queryFn: async ({ signal, client }): Promise<Project> => {
      if (mode === 'dev') return devProject(signal);
      if (PROJECT_ID.test(ref)) return readProject(ref, signal);
      const { organizations } = await client.ensureQueryData(userQuery);
      for (const { id } of organizations) {
        const found = (await projectsOf(id, ref, signal)).find(({ name }) => name === ref);
        if (found !== undefined) return found;
      }
      throw new ApiFailure(404, 'not_found', `No project named ${ref}`, null);
    },
    staleTime: 15_000,
  });

/** IDs contain an underscore, names do not. */
const PROJECT_ID = /^[a-z]+_[0-9A-Za-z]+$/;
