// Webhook deliveries of Git hosts, reduced to the used fields before they are stored. Bodies were signed by the host
// but contain texts of users, which are truncated and made storable. The drivers in kinds/ parse deliveries, and
// control/git-host/ handles them. Pure.
import { Failure } from '#core/failure.ts';
import { isBranchName, isCommitSha } from './remote-url.ts';

/** The repository that a delivery is about. */
export interface AboutRepository {
  /** The id of the host's record, for hosts that are used with tokens. Undefined for the host of `GITHOST_URL`. */
  readonly gitHostId?: string;
  /** Installation that the repository belongs to at that time; '' for hosts that are used with tokens. */
  readonly installationId: string;
  /** The Git host's id. */
  readonly repositoryId: string;
}

/** An updated branch. */
export interface Push extends AboutRepository {
  readonly event: 'push';
  readonly branch: string;
  /** Null if the branch is new. */
  readonly before: string | null;
  /** Null if the branch was deleted. */
  readonly after: string | null;
  /** Seconds since 1970, by the host's clock. */
  readonly pushedAt: number;
  readonly message: string;
  readonly author: string;
  /** Paths changed by its commits; null if the host does not list them all. */
  readonly files: readonly string[] | null;
}

/** A deleted branch. */
export interface BranchDeletion extends AboutRepository {
  readonly event: 'delete';
  readonly branch: string;
  readonly pushedAt: number;
}

/** A changed repository. */
export interface RepositoryChange extends AboutRepository {
  readonly event: 'repository';
  readonly action: 'renamed' | 'transferred' | 'deleted' | 'archived' | 'unarchived' | 'edited';
  readonly fullName: string;
  readonly defaultBranch: string;
}

/** A pull request that was opened, updated or closed. */
export interface PullRequest extends AboutRepository {
  readonly event: 'pull_request';
  readonly action: 'opened' | 'closed';
  readonly number: number;
  readonly branch: string;
  readonly sha: string;
  readonly title: string;
  readonly author: string;
  readonly isFork: boolean;
}

/** A changed installation of the application. */
export interface InstallationChange {
  readonly event: 'installation';
  readonly action: 'created' | 'deleted' | 'suspend' | 'unsuspend' | 'new_permissions_accepted';
  readonly installationId: string;
  readonly accountLogin: string;
  readonly permissions: Readonly<Record<string, string>>;
}

/** Repositories added to an installation, or removed from it. */
export interface InstallationRepositories {
  readonly event: 'installation_repositories';
  readonly installationId: string;
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export type Delivery =
  | Push
  | BranchDeletion
  | RepositoryChange
  | PullRequest
  | InstallationChange
  | InstallationRepositories;

export const MESSAGE_CHARS_MAX = 2000;
export const NAME_CHARS_MAX = 255;

export type Fields = Readonly<Record<string, unknown>>;

export function fields(value: unknown, name: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Failure('delivery_malformed', `${name} must be an object`);
}

/** An id of the host: a number. */
export function id(row: Fields, name: string): string {
  const value = row[name];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return String(value);
  throw new Failure('delivery_malformed', `${name} must be an ID`);
}

export function text(row: Fields, name: string, charsMax: number): string {
  const value = row[name];
  if (typeof value === 'string' && value !== '' && value.length <= charsMax) return value;
  throw new Failure('delivery_malformed', `${name} must be a text of at most ${charsMax} characters`);
}

/** A text of a user, truncated, without characters that Postgres cannot store. */
export function optionalText(value: unknown, charsMax: number): string {
  return typeof value === 'string' ? value.slice(0, charsMax).replaceAll('\0', '').toWellFormed() : '';
}

export function branchOf(name: string, place: string): string {
  if (isBranchName(name) && name.isWellFormed()) return name;
  throw new Failure('delivery_malformed', `${place} must be a branch name`);
}

/** Null for a hash of zeros, which represents no commit. */
export function commitOrNull(row: Fields, name: string): string | null {
  const value = row[name];
  if (typeof value !== 'string' || !isCommitSha(value))
    throw new Failure('delivery_malformed', `${name} must be a commit hash`);
  return /^0+$/.test(value) ? null : value;
}

/** @throws {Failure} `delivery_malformed` */
export function commitOf(row: Fields, name: string): string {
  const value = commitOrNull(row, name);
  if (value !== null) return value;
  throw new Failure('delivery_malformed', `${name} must be a commit hash`);
}

/** @throws {Failure} `delivery_malformed` */
export function pullRequestNumber(row: Fields, name: string): number {
  const value = row[name];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value < 2 ** 31) return value;
  throw new Failure('delivery_malformed', `${name} must be the number of a pull request`);
}

/** The current time in seconds since 1970, for deliveries that do not contain the time of a push. */
export function arrivedAt(): number {
  return Math.floor(Date.now() / 1000);
}
