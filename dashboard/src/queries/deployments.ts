// Deployments.
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';
import { byCursor } from '../components/cursor-list.tsx';
import type { Tone } from '../components/state.tsx';
import type { DeploymentSearch } from './deployment-search.ts';

export type Deployment = Awaited<ReturnType<typeof readDeployment>>;
const readDeployment = (id: string, signal: AbortSignal) =>
  dataOf(api.get('/deployments/:id', { params: { id }, signal }));

export type Promotion = Awaited<ReturnType<typeof readPromotion>>;
const readPromotion = (id: string, signal: AbortSignal) =>
  dataOf(api.get('/deployments/:id/promotion', { params: { id }, signal }));

const PAGE = 30;
const RUNNING_LOOK_MS = 2000;
const STILL_LOOK_MS = 15_000;
/** Poll interval during a guarded release, which is evaluated every few seconds. */
const GUARDED_LOOK_MS = 5000;

/** Whether the deployment has finished. */
export function hasEnded({ status }: Pick<Deployment, 'status'>): boolean {
  return status === 'success' || status === 'failure' || status === 'timeout' || status === 'canceled';
}

/** Deployments of a project, newest first; refetched more often while one is in progress. */
export const deploymentsQuery = (projectId: string, filters: DeploymentSearch) =>
  infiniteQueryOptions({
    queryKey: ['deployments', projectId, filters],
    queryFn: ({ pageParam, signal }) =>
      dataOf(
        api.get('/deployments', {
          query: { projectId, limit: PAGE, ...given({ ...filters, cursor: pageParam }) },
          signal,
        }),
      ),
    ...byCursor,
    refetchInterval: ({ state }) => {
      const items = state.data?.pages.flatMap((page) => page.items) ?? [];
      // On an empty list the user waits for the first deployment.
      return items.length === 0 || items.some((item) => !hasEnded(item)) ? RUNNING_LOOK_MS : STILL_LOOK_MS;
    },
  });

/** Without undefined values. */
function given<Values extends object>(values: Values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Values]?: Exclude<Values[Key], undefined>;
  };
}

/** Whether a share of the visitors gets the deployment, until it is promoted or rolled back. */
export const isGuarded = ({ guardedRelease }: Pick<Deployment, 'guardedRelease'>): boolean =>
  guardedRelease?.state === 'running';

/** One deployment; refetched while in progress. */
export const deploymentQuery = (id: string) =>
  queryOptions({
    queryKey: ['deployment', id],
    queryFn: ({ signal }) => readDeployment(id, signal),
    refetchInterval: ({ state: { data } }) => {
      if (data === undefined) return false;
      return hasEnded(data) ? isGuarded(data) && GUARDED_LOOK_MS : RUNNING_LOOK_MS;
    },
  });

/** Changes that a promotion of the deployment would make. */
export const promotionQuery = (id: string) =>
  queryOptions({ queryKey: ['promotion', id], queryFn: ({ signal }) => readPromotion(id, signal) });

/** Public URLs of the platform. */
export const addressesQuery = queryOptions({
  queryKey: ['addresses'],
  queryFn: ({ signal }) => dataOf(api.get('/addresses', { signal })),
  staleTime: Infinity,
});

const states: Readonly<Record<Deployment['status'], readonly [tone: Tone, word: string]>> = {
  queued: ['neutral', 'Queued'],
  building: ['running', 'Building'],
  uploading: ['running', 'Releasing'],
  migrating: ['running', 'Migrating'],
  success: ['ok', 'Ready'],
  failure: ['failed', 'Failed'],
  timeout: ['failed', 'Timed out'],
  canceled: ['neutral', 'Canceled'],
};

/** Tone and label of the status. */
export function stateOf(deployment: Deployment): readonly [tone: Tone, word: string] {
  const { status, url, reason, isLive, guardedRelease } = deployment;
  if (isGuarded(deployment)) return ['running', `${guardedRelease?.percent} % of visitors`];
  if (status === 'queued' && reason === 'approval_required') return ['warning', 'Needs approval'];
  if (status === 'success' && url === null) return ['neutral', 'Removed'];
  if (guardedRelease?.state === 'rolled_back' && !isLive) return ['failed', 'Rolled back'];
  return states[status];
}

const reasons: Readonly<Record<string, string>> = {
  approval_required: 'From a fork: a member must approve the deployment before it is built.',
  superseded: 'Superseded by a newer deployment of the branch.',
  branch_removed: 'The branch was deleted.',
  canceled: 'Canceled by a user.',
  project_deleted: 'The project was deleted.',
};

/** Why the deployment is waiting or has ended, in a sentence; null if not known. */
export function reasonText(deployment: Deployment): string | null {
  const { status, reason, errorMessage } = deployment;
  if (errorMessage !== null && (status === 'failure' || status === 'timeout')) return errorMessage;
  if (reason !== null && reasons[reason] !== undefined) return reasons[reason];
  if (status === 'queued') return 'Waiting for a builder.';
  if (status === 'timeout') return 'The build exceeded its time limit.';
  return errorMessage ?? reason;
}

/** Title: the first line of the commit message, or the source. */
export function titleOf({
  commitMessage,
  source,
  branch,
}: Pick<Deployment, 'commitMessage' | 'source' | 'branch'>): string {
  const [line = ''] = (commitMessage ?? '').split('\n');
  if (line !== '') return line;
  return source === 'upload' ? `Upload to ${branch}` : `Deployment of ${branch}`;
}
