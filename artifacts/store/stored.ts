// Errors for the author of a deployment whose artifact could not be stored or read. The name of the bucket is only in
// the log of the platform.
import type { Failure } from '#core/failure.ts';

const reasons: Readonly<Record<Failure<'artifact_store'>['reason'], string>> = {
  away: 'the storage of artifacts does not answer. Try again',
  refused: 'the storage of artifacts refuses the request. The log of the platform has the cause',
  missing: 'it is not there any more. Deploy its commit again',
  damaged: 'its bytes are damaged. Deploy its commit again',
};

/**
 * @param what what failed.
 * @example storeProblem('The artifact could not be stored', failure)
 */
export function storeProblem(what: string, { reason }: Failure<'artifact_store'>): string {
  return `${what}: ${reasons[reason]}`;
}
