// Contents of bindings. Production and `platform dev` have the same routes. Every query key begins with `resources`,
// the project and the branch, so that a change can invalidate them together.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';
import { byCursor } from '../components/cursor-list.tsx';

/** Project and branch of the resources. */
export interface ResourcePlace {
  /** Id of the project. */
  readonly id: string;
  readonly project: string;
  /** Null: production. */
  readonly branch: string | null;
}

/** A binding of a project and branch. */
export interface BindingPlace extends ResourcePlace {
  readonly binding: string;
}

/** Query parameters of every request. */
export function branchOf({ branch }: ResourcePlace): { branch?: string } {
  return branch === null ? {} : { branch };
}

/** A parameter, omitted if empty. */
function given<Name extends string>(name: Name, value: string | undefined): { [Key in Name]?: string } {
  return (value === undefined || value === '' ? {} : { [name]: value }) as { [Key in Name]?: string };
}

export const keyOf = ({ id, branch }: ResourcePlace, ...rest: readonly unknown[]): readonly unknown[] => [
  'resources',
  id,
  branch,
  ...rest,
];

/** Parameters of a request about a binding; routes name the path parameter by its kind. */
function asked<Kind extends string, Query extends object = object>(place: BindingPlace, kind: Kind, query?: Query) {
  return {
    params: { id: place.id, [kind]: place.binding } as { id: string } & { [Key in Kind]: string },
    query: { ...branchOf(place), ...query } as { branch?: string } & Query,
  };
}

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
      dataOf(api.get('/projects/:id/databases/:database/tables', { ...asked(place, 'database'), signal })),
  });

/** Table, order and filter. */
interface RowsWanted {
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
          ...asked(place, 'database', { ...wanted }),
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const slowQuery = (place: BindingPlace) =>
  queryOptions({
    queryKey: keyOf(place, 'db', place.binding, 'slow'),
    queryFn: ({ signal }) =>
      dataOf(api.get('/projects/:id/databases/:database/slow', { ...asked(place, 'database'), signal })),
  });

export const copiesQuery = (place: BindingPlace) =>
  queryOptions({
    queryKey: keyOf(place, 'db', place.binding, 'copies'),
    queryFn: ({ signal }) =>
      dataOf(api.get('/projects/:id/databases/:database/copies', { ...asked(place, 'database'), signal })),
  });

export const momentsQuery = (place: BindingPlace) =>
  queryOptions({
    queryKey: keyOf(place, 'db', place.binding, 'moments'),
    queryFn: ({ signal }) =>
      dataOf(api.get('/projects/:id/databases/:database/moments', { ...asked(place, 'database'), signal })),
  });

export const stateQuery = (place: BindingPlace, prefix: string) =>
  infiniteQueryOptions({
    queryKey: keyOf(place, 'state', place.binding, 'keys', prefix),
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/projects/:id/state/:binding', {
          ...asked(place, 'binding', {
            ...given('prefix', prefix),
            ...given('cursor', pageParam),
          }),
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
          ...asked(place, 'binding', { key }),
          signal,
        }),
      ),
  });

export const objectsQuery = (place: BindingPlace) =>
  infiniteQueryOptions({
    queryKey: keyOf(place, 'object', place.binding, 'list'),
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/projects/:id/objects/:binding', {
          ...asked(place, 'binding', given('cursor', pageParam)),
          signal,
        }),
      ),
    ...byCursor,
  });

export const objectQuery = (place: BindingPlace, object: string) =>
  queryOptions({
    queryKey: keyOf(place, 'object', place.binding, 'one', object),
    queryFn: ({ signal }) =>
      dataOf(api.get('/projects/:id/objects/:binding/entry', { ...asked(place, 'binding', { object }), signal })),
  });

export const objectValuesQuery = (place: BindingPlace, object: string) =>
  infiniteQueryOptions({
    queryKey: keyOf(place, 'object', place.binding, 'values', object),
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/projects/:id/objects/:binding/entry/values', {
          ...asked(place, 'binding', { object, ...given('cursor', pageParam) }),
          signal,
        }),
      ),
    ...byCursor,
  });

export const filesQuery = (place: BindingPlace, prefix: string) =>
  infiniteQueryOptions({
    queryKey: keyOf(place, 'fs', place.binding, prefix),
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/projects/:id/files/:binding', {
          ...asked(place, 'binding', {
            delimiter: '/',
            ...given('prefix', prefix),
            ...given('cursor', pageParam),
          }),
          signal,
        }),
      ),
    ...byCursor,
  });

/** Poll interval of queues, runs and timers. */
const LIVE_MS = 3000;

export const queueStatsQuery = (place: BindingPlace) =>
  queryOptions({
    queryKey: keyOf(place, 'queue', place.binding, 'stats'),
    queryFn: ({ signal }) => dataOf(api.get('/projects/:id/queues/:queue/stats', { ...asked(place, 'queue'), signal })),
    refetchInterval: LIVE_MS,
  });

export const messagesQuery = (place: BindingPlace, dead: boolean) =>
  infiniteQueryOptions({
    queryKey: keyOf(place, 'queue', place.binding, 'messages', dead),
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/projects/:id/queues/:queue/messages', {
          ...asked(place, 'queue', { dead, ...given('cursor', pageParam) }),
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
          ...asked(place, 'workflow', {
            ...given('status', status),
            ...given('cursor', pageParam),
          }),
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
          ...asked(place, 'workflow', { run }),
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
          ...asked(place, 'timer', {
            ...given('prefix', prefix),
            ...given('cursor', pageParam),
          }),
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
            ...given('email', email),
            ...given('cursor', pageParam),
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

export const sandboxesQuery = (place: BindingPlace, prefix: string) =>
  infiniteQueryOptions({
    queryKey: keyOf(place, 'sandbox', place.binding, prefix),
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/projects/:id/sandboxes/:binding', {
          ...asked(place, 'binding', { ...given('prefix', prefix), ...given('cursor', pageParam) }),
          signal,
        }),
      ),
    ...byCursor,
    refetchInterval: LIVE_MS,
  });

export const sandboxPortsQuery = (place: BindingPlace, sandbox: string) =>
  queryOptions({
    queryKey: keyOf(place, 'sandbox', place.binding, sandbox, 'ports'),
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/sandboxes/:binding/:sandbox/ports', {
          params: { id: place.id, binding: place.binding, sandbox },
          query: branchOf(place),
          signal,
        }),
      ),
  });

export const cacheQuery = (place: BindingPlace) =>
  queryOptions({
    queryKey: keyOf(place, 'cache', place.binding, 'keys'),
    queryFn: ({ signal }) => dataOf(api.get('/projects/:id/caches/:binding', { ...asked(place, 'binding'), signal })),
    retry: false,
  });

export const cacheEntryQuery = (place: BindingPlace, key: string) =>
  queryOptions({
    queryKey: keyOf(place, 'cache', place.binding, 'entry', key),
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/caches/:binding/entry', {
          ...asked(place, 'binding', { key }),
          signal,
        }),
      ),
  });

/** A table of a database. */
export interface DatabaseTable {
  readonly name: string;
  readonly type: string;
  readonly sql: string;
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly notNull: boolean;
    readonly primaryKey: number;
  }[];
}
