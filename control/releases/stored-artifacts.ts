// Artifacts of releases in the shared store: downloaded before their manifest is read, and uploaded before a deployment
// counts as stored.
import { listArtifacts } from '#artifacts/store/artifact-store-disk.ts';
import { storeProblem } from '#artifacts/store/stored.ts';
import { isFailure } from '#core/failure.ts';
import { pause } from '#core/process/wake.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';

const TOGETHER = 200;
const AGAIN_MS = 30_000;

type StoreDeps = Pick<Dependencies, 'artifacts' | 'log'>;

/**
 * Downloads an artifact to this machine for an API request.
 *
 * @returns false if the artifact was deleted. @throws {ApiError} `unavailable` if the artifact cannot be read now.
 */
export async function fetchArtifact(deps: StoreDeps, id: string): Promise<boolean> {
  try {
    await deps.artifacts.fetch(id);
    return true;
  } catch (error) {
    if (isFailure(error, 'artifact_store') && error.reason === 'missing') return false;
    throw inApi(deps, 'The artifact could not be read', id, error);
  }
}

/** Uploads an artifact of this machine to the shared store. @throws {ApiError} `unavailable` */
export async function uploadArtifact(deps: StoreDeps, id: string): Promise<void> {
  await deps.artifacts.upload(id).catch((error: unknown) => {
    throw inApi(deps, 'The artifact could not be stored', id, error);
  });
}

/**
 * Uploads artifacts that only this machine has, from before the store was shared or before a restore. Runs once at
 * start, with retries until the store responds.
 */
export async function uploadOwnArtifacts(deps: Dependencies): Promise<void> {
  const { sql, artifacts, folder, log, stopping } = deps;
  while (artifacts.isShared && !stopping.aborted) {
    try {
      const stored = await artifacts.list();
      const here = [...(await listArtifacts(folder)).keys()].filter((id) => !stored.has(id));
      let uploaded = 0;
      for (let at = 0; at < here.length; at += TOGETHER) {
        const used = await sql<{ artifact: string }[]>`
          SELECT DISTINCT artifact FROM control.deployment
          WHERE artifact = ANY(${here.slice(at, at + TOGETHER)}) AND removed_at IS NULL`;
        for (const { artifact } of used) {
          if (stopping.aborted) return;
          await artifacts.upload(artifact);
          uploaded++;
        }
      }
      if (uploaded > 0) log.info({ uploaded }, 'Artifacts of this machine uploaded for all machines');
      return;
    } catch (error) {
      if (!stopping.aborted) log.error({ reason: (error as Error).message }, 'Artifacts of this machine not uploaded');
      await pause(AGAIN_MS, stopping);
    }
  }
}

function inApi({ log }: StoreDeps, what: string, artifact: string, error: unknown): unknown {
  if (!isFailure(error, 'artifact_store')) return error;
  log.error({ artifact, reason: error.message }, what);
  return new ApiError('unavailable', { reason: storeProblem(what, error) });
}
