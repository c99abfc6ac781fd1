// Migrations applied to a project's databases.
import { infiniteQueryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';
import { byCursor } from '../components/cursor-list.tsx';

/** Filter. */
interface MigrationsWanted {
  readonly deploymentId?: string;
  readonly database?: string;
  /** Branch of the databases; '' for production. */
  readonly branch?: string;
}

export type Migration = Awaited<ReturnType<typeof readMigrations>>['items'][number];
const readMigrations = (id: string, wanted: MigrationsWanted, cursor: string | undefined, signal: AbortSignal) =>
  dataOf(
    api.get('/projects/:id/migrations', {
      params: { id },
      query: { limit: 50, ...wanted, ...(cursor !== undefined && { cursor }) },
      signal,
    }),
  );

const LOOK_MS = 1000;

/** @param isUnderWay polls. */
export const migrationsQuery = (projectId: string, wanted: MigrationsWanted, isUnderWay = false) =>
  infiniteQueryOptions({
    queryKey: ['migrations', projectId, wanted],
    queryFn: ({ pageParam, signal }) => readMigrations(projectId, wanted, pageParam, signal),
    ...byCursor,
    refetchInterval: isUnderWay ? LOOK_MS : false,
  });
