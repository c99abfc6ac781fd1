// Deletes all data of a project, with that of its previews, after the project was deleted. Called by
// process/operation-routes.ts. May be called again after it failed midway.
import { branchSlug } from '#core/names.ts';
import { ofPreview, withoutPreview } from '#core/preview.ts';
import { usersResource } from '../bindings/auth.ts';
import type { BranchStores } from '../bindings/bindings.ts';
import type { FileStore } from '../bindings/files.ts';
import type { DatabasePlace } from '../bindings/scope.ts';
import type { StateStore } from '../bindings/state.ts';
import { removeDatabase } from './database-removal.ts';

/** The stores that contain data of projects; each is null if it does not exist. */
export interface ProjectStores {
  readonly databases: {
    /** Bytes by namespace; null in a managed cloud. */
    kept(): Promise<Readonly<Record<string, number>> | null>;
    list(namespace: string, after?: string): Promise<readonly { readonly resource: string }[]>;
    remove(place: DatabasePlace): Promise<boolean>;
    /** Deletes the files of a namespace that are not databases. */
    sweep(namespace: string): Promise<void>;
  } | null;
  readonly state: Pick<StateStore, 'clear'> | null;
  readonly files: Pick<FileStore, 'clear' | 'resources'> | null;
  readonly events: BranchStores['events'];
}

/** A deleted project. */
export interface RemovedProject {
  readonly project: string;
  /**
   * Branches of the project, and the databases that their deployments declared, because a managed cloud cannot list
   * them.
   */
  readonly branches: readonly string[];
  readonly databases: readonly string[];
}

/**
 * Deletes a project's databases with their snapshots, users, state, files, messages, timers and runs; caches expire by
 * themselves, and the sandbox service destroys sandboxes of deleted projects. Call this function when no engine serves
 * the project, because a running request would create data again.
 */
export async function removeProject(
  { databases, state, files, events }: ProjectStores,
  removed: RemovedProject,
): Promise<Readonly<Record<string, number>>> {
  const { project } = removed;
  const { messages = 0, timers = 0, runs = 0 } = (await events?.clear(project)) ?? {};
  const stateKeys = (await state?.clear(project)) ?? 0;
  let fileCount = 0;
  for (const resource of (await files?.resources(project)) ?? [])
    fileCount += (await files?.clear({ namespace: project, resource })) ?? 0;
  const remove = (place: DatabasePlace): Promise<number> => removeDatabase({ databases, events }, place);
  let databaseCount = 0;
  const kept = (await databases?.kept()) ?? null;
  if (databases !== null && kept !== null)
    for (const namespace of Object.keys(kept).filter((name) => withoutPreview(name) === project)) {
      // A list may be incomplete, so lists are read until one is empty.
      for (let list = await databases.list(namespace); list.length > 0; list = await databases.list(namespace))
        for (const { resource } of list) databaseCount += await remove({ namespace, resource });
      await databases.sweep(namespace);
    }
  else for (const place of declaredDatabases(removed)) databaseCount += await remove(place);
  return { databases: databaseCount, stateKeys, files: fileCount, messages, timers, runs };
}

/** The databases that a deployment may have created, in production and in previews. */
function declaredDatabases({ project, branches, databases }: RemovedProject): DatabasePlace[] {
  const previews = [null, ...branches.map((branch) => branchSlug(branch, project))];
  return previews.flatMap((preview) => [
    ...databases.map((resource) => ({ namespace: project, resource: ofPreview(resource, preview) })),
    { namespace: ofPreview(project, preview), resource: usersResource },
  ]);
}
