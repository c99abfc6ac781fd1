// Artifacts of releases in the store of all machines: brought to this one before their manifest is read, and uploaded
// before a deployment counts as stored.
import { storeProblem } from '#artifacts/store/stored.ts';
import { isFailure } from '#core/failure.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';

type StoreDeps = Pick<Dependencies, 'artifacts' | 'log'>;

/**
 * Brings an artifact to this machine for a request of the API.
 *
 * @returns false: it was deleted.
 * @throws {ApiError} `unavailable` if it cannot be read now.
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

/** Stores an artifact of this machine for all of them. @throws {ApiError} `unavailable` */
export async function uploadArtifact(deps: StoreDeps, id: string): Promise<void> {
  await deps.artifacts.upload(id).catch((error: unknown) => {
    throw inApi(deps, 'The artifact could not be stored', id, error);
  });
}

function inApi({ log }: StoreDeps, what: string, artifact: string, error: unknown): unknown {
  if (!isFailure(error, 'artifact_store')) return error;
  log.error({ artifact, reason: error.message }, what);
  return new ApiError('unavailable', { reason: storeProblem(what, error) });
}
