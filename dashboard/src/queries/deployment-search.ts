// Filters of the list of deployments, as search parameters.

const states = ['queued', 'building', 'uploading', 'migrating', 'success', 'failure', 'timeout', 'canceled'] as const;

/** Filters of the list of deployments. */
export interface DeploymentSearch {
  readonly branch?: string | undefined;
  readonly status?: (typeof states)[number] | undefined;
  readonly target?: 'production' | 'preview' | undefined;
}

/** Drops invalid values. */
export const deploymentSearch = ({ branch, status, target }: Record<string, unknown>): DeploymentSearch => ({
  ...(typeof branch === 'string' && branch !== '' && { branch }),
  ...(states.some((one) => one === status) && { status: status as (typeof states)[number] }),
  ...((target === 'production' || target === 'preview') && { target }),
});
