// The variables of a bucket, `<NAME>_ENDPOINT`, `_BUCKET`, `_REGION`, `_ACCESS_KEY_ID`, `_SECRET_ACCESS_KEY` and
// `_PREFIX`: of files (`FILES_S3`), of artifacts (`ARTIFACTS_S3`) and of replicas (`DB_REPLICA_S3`). Pure: loads no
// client, and sends no request.
import { isProjectName } from '../names.ts';
import type { BucketOptions } from './bucket.ts';

/** A bucket, and the prefix that is used in it. */
export interface BucketPlace extends BucketOptions {
  /** Prefix of all keys, without leading and trailing slashes; '' for none. */
  readonly prefix: string;
}

type Get = (name: string) => string;
type Environment = Readonly<Record<string, string | undefined>>;
type BucketName = 'FILES_S3' | 'ARTIFACTS_S3' | 'DB_REPLICA_S3';

const PARTS = ['ENDPOINT', 'BUCKET', 'REGION', 'ACCESS_KEY_ID', 'SECRET_ACCESS_KEY'] as const;
/**
 * The prefix begins with a character that project names cannot have, because keys of a project's files begin with its
 * name.
 */
const [ARTIFACTS_PREFIX, REPLICAS_PREFIX] = ['_artifacts', '_databases'];

/**
 * @param get value of a variable; '' if it is not set. @param what name of the stored content, for messages.
 * @returns null if no variable of the bucket is set. @throws {Error} that names the missing or invalid variable; never
 * a value of a key.
 */
export function bucketFrom(get: Get, name: BucketName, what: string): BucketPlace | null {
  const names = PARTS.map((part) => `${name}_${part}`);
  const missing = names.filter((variable) => get(variable) === '');
  if (missing.length === names.length) return null;
  if (missing.length > 0) throw new Error(`${what} in S3 need ${missing.join(' and ')}, which is not set`);
  const endpoint = get(`${name}_ENDPOINT`);
  if (!/^https?:\/\/[^/]+\/?$/.test(endpoint))
    throw new Error(
      `${name}_ENDPOINT must be an address such as https://s3.eu-central-1.amazonaws.com, but is "${endpoint}"`,
    );
  return {
    endpoint,
    bucket: get(`${name}_BUCKET`),
    region: get(`${name}_REGION`),
    accessKeyId: get(`${name}_ACCESS_KEY_ID`),
    secretAccessKey: get(`${name}_SECRET_ACCESS_KEY`),
    prefix: trimmed(get(`${name}_PREFIX`)),
  };
}

/**
 * All variables of the bucket for artifacts; unset variables are taken from `FILES_S3_*`. Empty if no `ARTIFACTS_S3_*`
 * is set, because machines then share artifacts and routes through a folder.
 *
 * @throws {Error} naming the missing or invalid variable.
 */
export function artifactVariables(environment: Environment): Record<string, string> {
  return besideFiles(environment, 'ARTIFACTS_S3', 'Artifacts', ARTIFACTS_PREFIX);
}

/**
 * All variables of the bucket for replicas; unset variables are taken from `FILES_S3_*`. Empty if no `DB_REPLICA_S3_*`
 * is set: databases are then not replicated.
 *
 * @throws {Error} that names the missing or invalid variable.
 */
export function replicaVariables(environment: Environment): Record<string, string> {
  return besideFiles(environment, 'DB_REPLICA_S3', 'Replicas of databases', REPLICAS_PREFIX);
}

/** The variables of a bucket that may be the same bucket as that for files. */
function besideFiles(
  environment: Environment,
  name: Exclude<BucketName, 'FILES_S3'>,
  what: string,
  prefixByDefault: string,
): Record<string, string> {
  const own = (variable: string): string => environment[variable]?.trim() ?? '';
  if ([...PARTS, 'PREFIX'].every((part) => own(`${name}_${part}`) === '')) return {};
  const variables = Object.fromEntries(
    PARTS.map((part) => [`${name}_${part}`, own(`${name}_${part}`) || own(`FILES_S3_${part}`)]),
  );
  const prefix = trimmed(own(`${name}_PREFIX`)) || prefixByDefault;
  const place = bucketFrom((variable) => variables[variable] ?? '', name, what);
  if (place === null)
    throw new Error(
      `${what} in S3 need a bucket: set ${PARTS.map((part) => `${name}_${part}`).join(', ')}, or FILES_S3_*`,
    );
  if (place.bucket === own('FILES_S3_BUCKET') && isOfFiles(prefix, trimmed(own('FILES_S3_PREFIX'))))
    throw new Error(
      `${name}_PREFIX "${prefix}" can collide with files of a project in the same bucket: begin it with an underscore, such as ${prefixByDefault}`,
    );
  return { ...variables, [`${name}_PREFIX`]: prefix };
}

/** Whether keys of a project's files can begin with a prefix. */
function isOfFiles(prefix: string, ofFiles: string): boolean {
  const below = ofFiles === '' ? prefix : prefix.startsWith(`${ofFiles}/`) ? prefix.slice(ofFiles.length + 1) : null;
  return below !== null && isProjectName(below.split('/')[0]!);
}

function trimmed(prefix: string): string {
  return prefix.replace(/^\/+|\/+$/g, '');
}
