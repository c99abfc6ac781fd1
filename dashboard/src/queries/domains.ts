// The custom domains of a project.
import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';
import type { Tone } from '../components/state.tsx';

/** Poll interval while a domain is not active. */
const LOOK_MS = 5000;

export const domainsQuery = (id: string) =>
  queryOptions({
    queryKey: ['domains', id],
    queryFn: ({ signal }) => readDomains(id, signal),
    refetchInterval: ({ state }) => (state.data?.items.some(({ status }) => status !== 'active') ? LOOK_MS : false),
  });
const readDomains = (id: string, signal?: AbortSignal) =>
  dataOf(api.get('/projects/:id/domains', { params: { id }, ...(signal && { signal }) }));

/** A domain. */
export type Domain = Awaited<ReturnType<typeof readDomains>>['items'][number];

/** Tone and label of each status. */
export const domainStates: Readonly<Record<Domain['status'], readonly [tone: Tone, word: string]>> = {
  pending_verification: ['warning', 'Waiting for DNS'],
  verifying: ['running', 'Checking DNS'],
  issuing: ['running', 'Issuing certificate'],
  active: ['ok', 'Active'],
  error: ['failed', 'Error'],
};
