// Deletes the data of a branch (core/bindings/: `ofPreview`) when its deployments are removed. Production's data is not
// affected, because every name contains the branch. After a failure, the removal may be called again.
import { kinds } from '#core/bindings/kinds.ts';
import type { Manifest } from '#core/manifest.ts';
import { branchSlug } from '#core/names.ts';
import { objectsNamespace } from '#core/object-address.ts';
import { ofPreview } from '#core/preview.ts';
import { usersResource } from '../bindings/auth.ts';
import type { BranchStores } from '../bindings/bindings.ts';
import { engineKinds } from './table.ts';

/** A removed branch. */
interface RemovedBranch {
  readonly project: string;
  readonly branch: string;
  /** The bindings that deployments of the branch have declared, including deployments that were deleted long ago. */
  readonly bindings: readonly Manifest['bindings'][];
}

/**
 * Deletes a branch's databases, objects, users, state, files, messages, timers, runs and sandboxes; caches expire by
 * themselves. Call this function when the branch's deployments are no longer served, because a running request would
 * create data again.
 *
 * @returns how many entries of each kind were deleted, including zeros.
 */
export async function removeBranch(
  stores: BranchStores,
  removed: RemovedBranch,
): Promise<Readonly<Record<string, number>>> {
  const { project, branch } = removed;
  const preview = branchSlug(branch, project);
  const apart = ofPreview(project, preview);
  const counts: Record<string, number> = { messages: 0, timers: 0, runs: 0, ...(await stores.events?.clear(apart)) };
  for (const kind of kinds) {
    const { removal } = engineKinds[kind];
    if (removal === undefined) continue;
    const { counter } = removal;
    counts[counter] ??= 0;
    const resources = new Set(removed.bindings.flatMap((bindings) => Object.values(bindings[kind] ?? {})));
    for (const resource of resources) {
      const place = { namespace: project, resource: ofPreview(resource, preview) };
      counts[counter] += await removal.clear(stores, place);
    }
  }
  counts['objects'] = await removeObjects(stores.databases, objectsNamespace(project, preview));
  if ((await stores.databases?.remove({ namespace: apart, resource: usersResource })) === true) counts['databases']!++;
  // If builds do not run in sandboxes, there is nothing to delete, and the removal must not depend on a service that is
  // not used.
  await stores.sandboxes?.clearBuild(project, preview).catch(() => {});
  return counts;
}

/** @returns the number of durable objects that had stored data. */
async function removeObjects(databases: BranchStores['databases'], namespace: string): Promise<number> {
  let count = 0;
  // A list may be incomplete, so lists are read until one is empty.
  for (let last = ''; databases !== null;) {
    const objects = await databases.list(namespace, last);
    if (objects.length === 0) break;
    for (const { resource } of objects) if (await databases.remove({ namespace, resource })) count++;
    last = objects.at(-1)!.resource;
  }
  return count;
}
