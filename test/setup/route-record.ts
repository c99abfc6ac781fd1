// The route record of a project `shop`, for tests of what follows from one.
import type { DeploymentRecord, RouteRecord } from '#core/manifest.ts';

/** @param deployments the last of each branch is its newest. */
export function routeRecord(production: string | null, ...deployments: readonly DeploymentRecord[]): RouteRecord {
  return {
    version: 1,
    project: 'shop',
    plan: 'free',
    vars: {},
    domains: [],
    production,
    branches: Object.fromEntries(deployments.map(({ id, branch }) => [branch, id])),
    deployments: Object.fromEntries(deployments.map((one) => [one.id, one])),
  };
}
