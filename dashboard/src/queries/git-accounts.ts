// Git hosts that are used with access tokens, and the accounts of an organization on them.
import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';

export const gitHostsQuery = queryOptions({
  queryKey: ['git-hosts'],
  queryFn: async ({ signal }) => (await dataOf(api.get('/git-hosts', { signal }))).hosts,
});

/** The platform's GitHub App, for operators. */
export const gitHubAppQuery = queryOptions({
  queryKey: ['github-app'],
  queryFn: ({ signal }) => dataOf(api.get('/git-host/status', { signal })),
});

/** The accounts that an organization has connected. */
export const gitAccountsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['git-accounts', organizationId],
    queryFn: async ({ signal }) =>
      (await dataOf(api.get('/git-accounts', { query: { organizationId }, signal }))).accounts,
  });
