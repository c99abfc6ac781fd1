// Determines which databases are replicated, and the target, from the variables of the database service.
import { bucketFrom, replicaVariables, type BucketPlace } from '#core/s3/bucket-variables.ts';

/** Where replicas are. */
interface ReplicaSettings {
  readonly place: BucketPlace;
  /** Whether databases of previews are replicated, too. */
  readonly previews: boolean;
}

/** @returns null if replication is off. @throws {Error} naming the variable that is missing or invalid. */
export function replicaSettings(environment: Readonly<Record<string, string | undefined>>): ReplicaSettings | null {
  const variables = replicaVariables(environment);
  const place = bucketFrom((name) => variables[name] ?? '', 'DB_REPLICA_S3', 'Replicas of databases');
  const previews = environment['DB_REPLICA_PREVIEWS']?.trim() ?? '';
  if (previews !== '' && previews !== 'on' && previews !== 'off')
    throw new Error(`DB_REPLICA_PREVIEWS must be on or off, but is "${previews}"`);
  if (place === null) return null;
  return { place, previews: previews === 'on' };
}
