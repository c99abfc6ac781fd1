// What bindings hold, asked of the API: the same routes in production and under `platform dev`. Every key begins with
// `resources`, the project and the branch, so that a change reads anew what it may have changed.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';
import { byCursor } from '../components/cursor-list.tsx';

/** Whose resources. */
export interface ResourcePlace {
  /** Id of the project. */
  readonly id: string;
  readonly project: string;
  /** Null: production. */
  readonly branch: string | null;
}

/** A binding of that place. */
export interface BindingPlace extends ResourcePlace {
  readonly binding: string;
}

/** What every question carries. */
export function branchOf({ branch }: ResourcePlace): { branch?: string } {
  return branch === null ? {} : { branch };
}

export const keyOf = ({ id, branch }: ResourcePlace, ...rest: readonly unknown[]): readonly unknown[] => [
  'resources',
  id,
  branch,
  ...rest,
];

export const resourcesQuery = (place: ResourcePlace) =>
  queryOptions({
    queryKey: keyOf(place, 'list'),
    queryFn: ({ signal }) =>
      dataOf(api.get('/projects/:id/resources', { params: { id: place.id }, query: branchOf(place), signal })),
    staleTime: 30_000,
  });

export const tablesQuery = (place: BindingPlace) =>
  queryOptions({
    queryKey: keyOf(place, 'db', place.binding, 'tables'),
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/databases/:database/tables', {
          params: { id: place.id, database: place.binding },
          query: branchOf(place),
          signal,
        }),
      ),
  });

/** Which rows of a table. */
export interface RowsWanted {
  readonly table: string;
  readonly limit: number;
  readonly offset: number;
  readonly order?: string;
  readonly descending?: boolean;
  readonly column?: string;
  readonly search?: string;
}

export const rowsQuery = (place: BindingPlace, wanted: RowsWanted) =>
  queryOptions({
    queryKey: keyOf(place, 'db', place.binding, 'rows', wanted),
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/databases/:database/rows', {
          params: { id: place.id, database: place.binding },
          query: { ...branchOf(place), ...wanted },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const slowQuery = (place: BindingPlace) =>
  queryOptions({
    queryKey: keyOf(place, 'db', place.binding, 'slow'),
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/databases/:database/slow', {
          params: { id: place.id, database: place.binding },
          query: branchOf(place),
          signal,
        }),
      ),
  });

export const copiesQuery = (place: BindingPlace) =>
  queryOptions({
    queryKey: keyOf(place, 'db', place.binding, 'copies'),
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/databases/:database/copies', {
          params: { id: place.id, database: place.binding },
          query: branchOf(place),
          signal,
        }),
      ),
  });

export const stateQuery = (place: BindingPlace, prefix: string) =>
  infiniteQueryOptions({
    queryKey: keyOf(place, 'state', place.binding, 'keys', prefix),
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/projects/:id/state/:binding', {
          params: { id: place.id, binding: place.binding },
          query: {
            ...branchOf(place),
            ...(prefix !== '' && { prefix }),
            ...(pageParam !== undefined && { cursor: pageParam }),
          },
          signal,
        }),
      ),
    ...byCursor,
  });

export const stateEntryQuery = (place: BindingPlace, key: string) =>
  queryOptions({
    queryKey: keyOf(place, 'state', place.binding, 'entry', key),
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/state/:binding/entry', {
          params: { id: place.id, binding: place.binding },
          query: { ...branchOf(place), key },
          signal,
        }),
      ),
  });

export const filesQuery = (place: BindingPlace, prefix: string) =>
  infiniteQueryOptions({
    queryKey: keyOf(place, 'fs', place.binding, prefix),
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/projects/:id/files/:binding', {
          params: { id: place.id, binding: place.binding },
          query: {
            ...branchOf(place),
            delimiter: '/',
            ...(prefix !== '' && { prefix }),
            ...(pageParam !== undefined && { cursor: pageParam }),
          },
          signal,
        }),
      ),
    ...byCursor,
  });

/** How often what waits is looked at anew while it is shown. */
export const LIVE_MS = 3000;

export const queueStatsQuery = (place: BindingPlace) =>
  queryOptions({
    queryKey: keyOf(place, 'queue', place.binding, 'stats'),
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/queues/:queue/stats', {
          params: { id: place.id, queue: place.binding },
          query: branchOf(place),
          signal,
        }),
      ),
    refetchInterval: LIVE_MS,
  });

export const messagesQuery = (place: BindingPlace, dead: boolean) =>
  infiniteQueryOptions({
    queryKey: keyOf(place, 'queue', place.binding, 'messages', dead),
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/projects/:id/queues/:queue/messages', {
          params: { id: place.id, queue: place.binding },
          query: { ...branchOf(place), dead, ...(pageParam !== undefined && { cursor: pageParam }) },
          signal,
        }),
      ),
    ...byCursor,
    refetchInterval: LIVE_MS,
  });

export const runsQuery = (place: BindingPlace, status: string) =>
  infiniteQueryOptions({
    queryKey: keyOf(place, 'workflow', place.binding, 'runs', status),
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/projects/:id/workflows/:workflow/runs', {
          params: { id: place.id, workflow: place.binding },
          query: {
            ...branchOf(place),
            ...(status !== '' && { status }),
            ...(pageParam !== undefined && { cursor: pageParam }),
          },
          signal,
        }),
      ),
    ...byCursor,
    refetchInterval: LIVE_MS,
  });

export const runQuery = (place: BindingPlace, run: string) =>
  queryOptions({
    queryKey: keyOf(place, 'workflow', place.binding, 'run', run),
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/workflows/:workflow/run', {
          params: { id: place.id, workflow: place.binding },
          query: { ...branchOf(place), run },
          signal,
        }),
      ),
    refetchInterval: ({ state }) =>
      state.data === undefined || ['pending', 'running'].includes(state.data.status) ? 1000 : LIVE_MS,
  });

export const timersQuery = (place: BindingPlace, prefix: string) =>
  infiniteQueryOptions({
    queryKey: keyOf(place, 'timer', place.binding, prefix),
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/projects/:id/timers/:timer', {
          params: { id: place.id, timer: place.binding },
          query: {
            ...branchOf(place),
            ...(prefix !== '' && { prefix }),
            ...(pageParam !== undefined && { cursor: pageParam }),
          },
          signal,
        }),
      ),
    ...byCursor,
    refetchInterval: LIVE_MS,
  });

export const schedulesQuery = (place: ResourcePlace) =>
  queryOptions({
    queryKey: keyOf(place, 'schedules'),
    queryFn: ({ signal }) =>
      dataOf(api.get('/projects/:id/schedules', { params: { id: place.id }, query: branchOf(place), signal })),
    refetchInterval: LIVE_MS,
  });

export const usersQuery = (place: ResourcePlace, email: string) =>
  infiniteQueryOptions({
    queryKey: keyOf(place, 'users', 'list', email),
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/projects/:id/users', {
          params: { id: place.id },
          query: {
            ...branchOf(place),
            ...(email !== '' && { email }),
            ...(pageParam !== undefined && { cursor: pageParam }),
          },
          signal,
        }),
      ),
    ...byCursor,
  });

export const userSessionsQuery = (place: ResourcePlace, user: string) =>
  queryOptions({
    queryKey: keyOf(place, 'users', user, 'sessions'),
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/users/:user/sessions', {
          params: { id: place.id, user },
          query: branchOf(place),
          signal,
        }),
      ),
  });

export const signInQuery = (place: ResourcePlace) =>
  queryOptions({
    queryKey: keyOf(place, 'sign-in'),
    queryFn: ({ signal }) =>
      dataOf(api.get('/projects/:id/sign-in', { params: { id: place.id }, query: branchOf(place), signal })),
  });

export const cacheQuery = (place: BindingPlace) =>
  queryOptions({
    queryKey: keyOf(place, 'cache', place.binding, 'keys'),
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/caches/:binding', {
          params: { id: place.id, binding: place.binding },
          query: branchOf(place),
          signal,
        }),
      ),
    retry: false,
  });

export const cacheEntryQuery = (place: BindingPlace, key: string) =>
  queryOptions({
    queryKey: keyOf(place, 'cache', place.binding, 'entry', key),
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/caches/:binding/entry', {
          params: { id: place.id, binding: place.binding },
          query: { ...branchOf(place), key },
          signal,
        }),
      ),
  });
