// Determines which deployments are previews, which resources they have instead of production's, and under which names.
// Called by the handler's routes, bindings and the broker. Pure.
import type { RouteRecord } from './manifest.ts';
import { branchSlug } from './names.ts';

/**
 * The slug of the branch whose resources a deployment uses; null if it uses production's, because it is on production's
 * branch or was deployed to production.
 */
export function previewOf({ project, production, deployments }: RouteRecord, id: string): string | null {
  const deployment = Object.hasOwn(deployments, id) ? deployments[id] : undefined;
  if (deployment === undefined || deployment.target === 'production') return null;
  const served = production === null ? undefined : deployments[production];
  return served?.branch === deployment.branch ? null : branchSlug(deployment.branch, project);
}

/**
 * The variables of a deployment: the variables with which it was released, otherwise those of production, or of
 * previews and its branch, depending on whose resources it uses.
 */
export function variablesOf(record: RouteRecord, id: string): Readonly<Record<string, string>> {
  const own = Object.hasOwn(record.deployments, id) ? record.deployments[id]!.vars : undefined;
  if (own !== undefined) return own;
  if (previewOf(record, id) === null) return record.vars;
  const { branch } = record.deployments[id]!;
  const ofBranch = Object.hasOwn(record.branchVars ?? {}, branch) ? record.branchVars![branch] : {};
  return { ...record.previewVars, ...ofBranch };
}

/**
 * Separator between a name and the slug of a preview's branch. Two characters: `auth~users` must not be a database of a
 * branch named `users`.
 */
export const previewSeparator = '~~';

/**
 * A preview's name for a resource or namespace, which no platform.yaml can declare. Databases, state and files have a
 * separate resource (`users~~login`), which counts for their project. Users, caches, queues, timers and workflows have
 * a separate namespace (`shop~~login`), in which they keep their names.
 *
 * @param preview from {@link previewOf}.
 */
export function ofPreview(name: string, preview: string | null): string {
  return preview === null ? name : `${name}${previewSeparator}${preview}`;
}

/** The branch's slug in a name from {@link ofPreview}; null if it is production's. */
export function previewIn(name: string): string | null {
  const at = name.indexOf(previewSeparator);
  return at < 0 ? null : name.slice(at + previewSeparator.length);
}

/** The original name of a name from {@link ofPreview}; for a namespace, this is the project. */
export function withoutPreview(name: string): string {
  const at = name.indexOf(previewSeparator);
  return at < 0 ? name : name.slice(0, at);
}

/**
 * The deployment that receives the events of a namespace: for production, the live deployment; for a preview, the
 * newest deployment of its branch, as long as it is a preview. Null if there is no such deployment; the events then
 * wait.
 *
 * @param branch the branch of the sender. @param preview the preview of the namespace, from {@link previewIn}.
 */
export function recipientOf(record: RouteRecord, branch: string, preview: string | null): string | null {
  if (preview === null) return record.production;
  const newest = Object.hasOwn(record.branches, branch) ? record.branches[branch] : undefined;
  return newest !== undefined && previewOf(record, newest) === preview ? newest : null;
}
