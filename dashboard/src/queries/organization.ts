// An organization by its slug.
import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';
import { ApiFailure } from '../api/failure.ts';
import { userQuery } from './account.ts';

const readOrganization = (id: string, signal?: AbortSignal) =>
  dataOf(api.get('/orgs/:id', { params: { id }, ...(signal && { signal }) }));

/** The organization with its plan and the user's role. */
export type FullOrganization = Awaited<ReturnType<typeof readOrganization>>;

/** @param ref slug or id of the organization. */
export const organizationQuery = (ref: string) =>
  queryOptions({
    queryKey: ['organization', ref],
    queryFn: async ({ signal, client }): Promise<FullOrganization> => {
      const { organizations } = await client.ensureQueryData(userQuery);
      const found = organizations.find(({ id, slug }) => slug === ref || id === ref);
      if (found === undefined)
        throw new ApiFailure(404, 'not_found', `You are not a member of an organization named ${ref}`, null);
      return readOrganization(found.id, signal);
    },
    staleTime: 15_000,
  });
