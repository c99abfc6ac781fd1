// Deletes the data of a branch (bindings.ts: `renamed`, `apart`) when its deployments are removed. Production's data
// is out of reach, since every name here contains the branch. May be called again after it failed midway.
import type { Manifest } from '#core/manifest.ts';
import { branchSlug } from '#core/names.ts';
import { ofPreview } from '#core/preview.ts';
import { usersResource } from './auth.ts';
import type { DatabasePlace } from './scope.ts';
import type { FileStore } from './files.ts';
import type { SandboxRemoval } from './sandbox-removal.ts';
import type { StateStore } from './state.ts';

/** The stores with data of branches; null if there is no such store. */
export interface BranchStores {
  readonly databases: { remove(place: DatabasePlace): Promise<boolean> } | null;
  readonly state: Pick<StateStore, 'list' | 'delete'> | null;
  readonly files: Pick<FileStore, 'clear'> | null;
  readonly events: {
    /** Deletes messages, timers and runs of a namespace. */
    clear(namespace: string): Promise<{ messages: number; timers: number; runs: number }>;
    readonly outboxes: { forget(place: DatabasePlace): Promise<void> };
  } | null;
  readonly sandboxes: SandboxRemoval | null;
}

/** A removed branch. */
interface RemovedBranch {
  readonly project: string;
  readonly branch: string;
  /** Bindings that its deployments declared, including deployments deleted long ago. */
  readonly bindings: readonly Manifest['bindings'][];
}

/** Counts of deleted data. */
export interface RemovedCounts {
  readonly databases: number;
  readonly stateKeys: number;
  readonly files: number;
  readonly messages: number;
  readonly timers: number;
  readonly runs: number;
  readonly sandboxes: number;
}

/**
 * Deletes a branch's databases, users, state, files, messages, timers, runs and sandboxes; caches expire by
 * themselves. Call it once its deployments are no longer served: a request that still runs recreates what it writes
 * to.
 */
export async function removeBranch(
  { databases, state, files, events, sandboxes }: BranchStores,
  removed: RemovedBranch,
): Promise<RemovedCounts> {
  const { project, branch } = removed;
  const preview = branchSlug(branch, project);
  const apart = ofPreview(project, preview);
  const placesOf = (kind: string): DatabasePlace[] => {
    const resources = new Set(removed.bindings.flatMap((bindings) => Object.values(bindings[kind] ?? {})));
    return [...resources].map((resource) => ({ namespace: project, resource: ofPreview(resource, preview) }));
  };
  const { messages = 0, timers = 0, runs = 0 } = (await events?.clear(apart)) ?? {};
  let [count, stateKeys, fileCount, sandboxCount] = [0, 0, 0, 0];
  for (const place of placesOf('db')) {
    // First: looking for messages in a deleted database would recreate it, empty.
    await events?.outboxes.forget(place);
    if ((await databases?.remove(place)) === true) count++;
  }
  if ((await databases?.remove({ namespace: apart, resource: usersResource })) === true) count++;
  for (const place of placesOf('fs')) fileCount += (await files?.clear(place)) ?? 0;
  if (state !== null) for (const place of placesOf('state')) stateKeys += await clearState(state, place);
  for (const place of placesOf('sandbox')) sandboxCount += (await sandboxes?.clear(place)) ?? 0;
  // Builds without a sandbox have none, and no branch has to wait for a service that it never used.
  await sandboxes?.clearBuild(project, preview).catch(() => {});
  return { databases: count, stateKeys, files: fileCount, messages, timers, runs, sandboxes: sandboxCount };
}

const KEYS_TOGETHER = 1000;

async function clearState(state: Pick<StateStore, 'list' | 'delete'>, place: DatabasePlace): Promise<number> {
  let count = 0;
  for (let after: string | null = null; ;) {
    // With time 0 nothing has expired, so all keys are listed.
    const { keys, more } = await state.list(place, { prefix: '', after, limit: KEYS_TOGETHER }, 0);
    await Promise.all(keys.map(({ name }) => state.delete(place, name)));
    count += keys.length;
    if (!more) return count;
    after = keys.at(-1)!.name;
  }
}
