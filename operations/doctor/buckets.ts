// Checks whether the buckets of files, artifacts and replicas answer and accept their keys. For `platform doctor`.
// The check only lists objects, so a key without write access is not detected. No message includes a key.
import { artifactVariables, bucketFrom, replicaVariables, type BucketPlace } from '#core/s3/bucket-variables.ts';
import { openBucket, refused } from '#core/s3/bucket.ts';
import type { Environment } from '../locations.ts';
import { fail, ok, type Finding } from './finding.ts';

const NAME = 'buckets';
const ANSWER_MS_MAX = 5000;

const buckets = [
  ['FILES_S3', 'Files', (environment: Environment) => environment],
  ['ARTIFACTS_S3', 'Artifacts', artifactVariables],
  ['DB_REPLICA_S3', 'Replicas of databases', replicaVariables],
] as const;

/** A finding for each bucket that is set. */
export async function checkBuckets(environment: Environment): Promise<Finding[]> {
  const found = await Promise.all(
    buckets.map(async ([name, what, variablesOf]) => {
      let place: BucketPlace | null;
      try {
        const variables = variablesOf(environment);
        place = bucketFrom((variable) => variables[variable]?.trim() ?? '', name, what);
      } catch (error) {
        return [fail(NAME, (error as Error).message, `Correct ${name}_*, or remove all of them.`)];
      }
      return place === null ? [] : [await checkBucket(place, name, what)];
    }),
  );
  return found.flat();
}

async function checkBucket(place: BucketPlace, name: string, what: string): Promise<Finding> {
  const of = `${what}: bucket ${place.bucket} at ${place.endpoint}`;
  const bucket = openBucket(place);
  try {
    const response = await bucket.send({
      method: 'GET',
      query: { 'list-type': '2', prefix: place.prefix, 'max-keys': '1' },
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    if (response.ok) {
      await response.body?.cancel();
      return ok(NAME, `${of} answers`);
    }
    const { status } = response;
    const { reason } = (await refused(response)).details;
    return fail(NAME, `${of}: ${String(reason)}`, adviceFor(status, name, place));
  } catch (error) {
    const advice = `Check ${name}_ENDPOINT, and whether this machine can reach it.`;
    return fail(NAME, `${of} does not answer: ${reasonOf(error)}`, advice);
  } finally {
    await bucket.close();
  }
}

function adviceFor(status: number, name: string, { bucket }: BucketPlace): string {
  if (status === 404) return `Create the bucket ${bucket}, or correct ${name}_BUCKET.`;
  if (status >= 500) return `Check the storage behind ${name}_ENDPOINT.`;
  const variables = ['ACCESS_KEY_ID', 'SECRET_ACCESS_KEY', 'REGION'].map((part) => `${name}_${part}`).join(', ');
  return `Check ${variables}, and that this key can list, read, write and delete objects of the bucket.`;
}

/** The code or message of the error that caused all others. */
function reasonOf(error: unknown): string {
  const { cause, code, message } = error as { cause?: unknown; code?: unknown; message: string };
  if (cause !== undefined) return reasonOf(cause);
  return typeof code === 'string' ? code : message;
}
