// Which deployments are previews, what they have of their own instead of production's, and under which names. Called by
// the handler's routes, bindings and the broker. Pure.
import type { RouteRecord } from './manifest.ts';
import { branchSlug } from './names.ts';

/**
 * The slug of the branch whose own resources a deployment has; null for one that works on production's: it is on the
 * branch of what production serves, or was deployed to be production.
 */
export function previewOf({ project, production, deployments }: RouteRecord, id: string): string | null {
  const deployment = Object.hasOwn(deployments, id) ? deployments[id] : undefined;
  if (deployment === undefined || deployment.target === 'production') return null;
  const served = production === null ? undefined : deployments[production];
  return served?.branch === deployment.branch ? null : branchSlug(deployment.branch, project);
}

/**
 * The variables of a deployment: those it was released with, else production's, or those of previews and of its branch.
 * They follow what it works on.
 */
export function variablesOf(record: RouteRecord, id: string): Readonly<Record<string, string>> {
  const own = Object.hasOwn(record.deployments, id) ? record.deployments[id]!.vars : undefined;
  if (own !== undefined) return own;
  if (previewOf(record, id) === null) return record.vars;
  const { branch } = record.deployments[id]!;
  const ofBranch = Object.hasOwn(record.branchVars ?? {}, branch) ? record.branchVars![branch] : {};
  return { ...record.previewVars, ...ofBranch };
}

// Two: `auth~users` is no database of a branch that is called `users`.
const separator = '~~';

/**
 * A name of a preview's own, which no platform.yaml can declare. Of what is kept it is the resource (`users~~login` of
 * database, state and files: they count for their project); of users, caches and what waits for a moment the namespace
 * (`shop~~login`: queues keep their names).
 *
 * @param preview of {@link previewOf}.
 */
export function ofPreview(name: string, preview: string | null): string {
  return preview === null ? name : `${name}${separator}${preview}`;
}

/** The branch's slug in a name of {@link ofPreview}; null: it is production's. */
export function previewIn(name: string): string | null {
  const at = name.indexOf(separator);
  return at < 0 ? null : name.slice(at + separator.length);
}

/** The name that a name of {@link ofPreview} was made of: of a namespace the project. */
export function withoutPreview(name: string): string {
  const at = name.indexOf(separator);
  return at < 0 ? name : name.slice(0, at);
}

/**
 * Who gets what waits in a namespace: of production's what serves; of a preview's the newest deployment of its branch,
 * as long as that is a preview. Null: nobody, it waits.
 *
 * @param branch of who sent it. @param preview of the namespace, by {@link previewIn}.
 */
export function recipientOf(record: RouteRecord, branch: string, preview: string | null): string | null {
  if (preview === null) return record.production;
  const newest = Object.hasOwn(record.branches, branch) ? record.branches[branch] : undefined;
  return newest !== undefined && previewOf(record, newest) === preview ? newest : null;
}
