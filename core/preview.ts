// Which deployments are previews, and what they have of their own instead of production's. Called by the handler's routes and the
// broker. Pure.
import type { RouteRecord } from './manifest.ts';
import { branchSlug } from './names.ts';

/**
 * The slug of the branch whose own databases and users a deployment has; null for one that works on production's: it is on the
 * branch of what production serves, or was deployed to be production.
 */
export function previewOf({ project, production, deployments }: RouteRecord, id: string): string | null {
  const deployment = Object.hasOwn(deployments, id) ? deployments[id] : undefined;
  if (deployment === undefined || deployment.target === 'production') return null;
  const served = production === null ? undefined : deployments[production];
  return served?.branch === deployment.branch ? null : branchSlug(deployment.branch, project);
}

/** The name of a preview's own copy, which no platform.yaml can declare: `users~login`. @param preview of {@link previewOf}. */
export function ofPreview(name: string, preview: string | null): string {
  return preview === null ? name : `${name}~${preview}`;
}

/**
 * Who gets what a branch sent: production for its own branch, whatever was deployed there since; otherwise the newest deployment of
 * the branch, or production where it has none. Null: nobody.
 */
export function recipientOf({ production, branches, deployments }: RouteRecord, branch: string): string | null {
  if (production !== null && deployments[production]?.branch === branch) return production;
  return (Object.hasOwn(branches, branch) ? branches[branch] : undefined) ?? production;
}
