// Parses webhook deliveries of a Git host with GitHub's API. Called by control/git-host/receive.ts. Pure.
import { Failure } from '#core/failure.ts';
import { isCommitSha } from '../remote-url.ts';
import {
  MESSAGE_CHARS_MAX,
  NAME_CHARS_MAX,
  branchOf,
  commitOrNull,
  fields,
  id,
  optionalText,
  text,
  type BranchDeletion,
  type Delivery,
  type Fields,
  type InstallationChange,
  type InstallationRepositories,
  type PullRequest,
  type Push,
  type RepositoryChange,
} from '../delivery.ts';
import { toPermissions } from '../repositories.ts';

/** A push with this many listed commits may have more that are not listed. */
const COMMITS_LISTED_MAX = 20;
const FILES_MAX = 1000;
const REPOSITORIES_MAX = 5000;

/**
 * Parses a delivery.
 *
 * @param event the event that the header names.
 * @returns null for deliveries to ignore: other events, tags, other actions.
 * @throws {Failure} `delivery_malformed`
 */
export function readGithubDelivery(event: string, body: unknown): Delivery | null {
  const payload = fields(body, 'the body');
  if (event === 'push') return readPush(payload);
  if (event === 'delete') return readDeletion(payload);
  if (event === 'repository') return readRepository(payload);
  if (event === 'pull_request') return readPullRequest(payload);
  if (event === 'installation') return readInstallationChange(payload);
  if (event === 'installation_repositories') return readInstallationRepositories(payload);
  return null;
}

function readPush(payload: Fields): Push | null {
  const ref = text(payload, 'ref', NAME_CHARS_MAX + 11);
  if (!ref.startsWith('refs/heads/')) return null;
  const repository = fields(payload['repository'], 'repository');
  const after = commitOrNull(payload, 'after');
  const before = commitOrNull(payload, 'before');
  const head = payload['head_commit'];
  const commit = head === null || head === undefined ? {} : fields(head, 'head_commit');
  const author = fields(commit['author'] ?? {}, 'head_commit.author');
  return {
    event: 'push',
    installationId: installationOf(payload),
    repositoryId: id(repository, 'id'),
    branch: branchOf(ref.slice('refs/heads/'.length), 'ref'),
    before,
    after,
    pushedAt: seconds(repository['pushed_at']),
    message: optionalText(commit['message'], MESSAGE_CHARS_MAX),
    author: optionalText(author['username'] ?? author['name'], NAME_CHARS_MAX),
    files: payload['forced'] === true || before === null || after === null ? null : filesOf(payload['commits'], after),
  };
}

/** All paths changed by the commits of a push; null if one may be missing. */
function filesOf(commits: unknown, after: string): string[] | null {
  if (!Array.isArray(commits) || commits.length === 0 || commits.length >= COMMITS_LISTED_MAX) return null;
  const files = new Set<string>();
  let isTipListed = false;
  for (const each of commits as unknown[]) {
    const commit = fields(each, 'commits');
    isTipListed ||= commit['id'] === after;
    for (const list of ['added', 'removed', 'modified']) {
      const paths = commit[list];
      if (!Array.isArray(paths)) return null;
      for (const path of paths as unknown[]) files.add(optionalText(path, 4096));
      if (files.size > FILES_MAX) return null;
    }
  }
  return isTipListed ? [...files] : null;
}

function readDeletion(payload: Fields): BranchDeletion | null {
  if (payload['ref_type'] !== 'branch') return null;
  const repository = fields(payload['repository'], 'repository');
  return {
    event: 'delete',
    installationId: installationOf(payload),
    repositoryId: id(repository, 'id'),
    branch: branchOf(text(payload, 'ref', NAME_CHARS_MAX), 'ref'),
    pushedAt: seconds(repository['pushed_at']),
  };
}

const repositoryActions = ['renamed', 'transferred', 'deleted', 'archived', 'unarchived', 'edited'] as const;

function readRepository(payload: Fields): RepositoryChange | null {
  const action = repositoryActions.find((each) => each === payload['action']);
  if (action === undefined) return null;
  const repository = fields(payload['repository'], 'repository');
  const fullName = text(repository, 'full_name', 2 * NAME_CHARS_MAX);
  if (!/^[\w.-]+\/[\w.-]+$/.test(fullName))
    throw new Failure('delivery_malformed', 'repository.full_name must be owner/name');
  const defaultBranch = branchOf(text(repository, 'default_branch', NAME_CHARS_MAX), 'repository.default_branch');
  return {
    event: 'repository',
    action,
    installationId: installationOf(payload),
    repositoryId: id(repository, 'id'),
    fullName,
    defaultBranch,
  };
}

const openingActions: readonly unknown[] = ['opened', 'reopened', 'synchronize'];

function readPullRequest(payload: Fields): PullRequest | null {
  const action = payload['action'];
  if (action !== 'closed' && !openingActions.includes(action)) return null;
  const repository = fields(payload['repository'], 'repository');
  const pullRequest = fields(payload['pull_request'], 'pull_request');
  const head = fields(pullRequest['head'], 'pull_request.head');
  const number = pullRequest['number'];
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 1 || number > 2 ** 31 - 1)
    throw new Failure('delivery_malformed', 'pull_request.number must be the number of a pull request');
  const repositoryId = id(repository, 'id');
  // The repository of a deleted fork is null; it still counts as a fork.
  const origin = head['repo'] === null ? null : id(fields(head['repo'], 'pull_request.head.repo'), 'id');
  const sha = text(head, 'sha', 64);
  if (!isCommitSha(sha)) throw new Failure('delivery_malformed', 'pull_request.head.sha must be a commit hash');
  return {
    event: 'pull_request',
    action: action === 'closed' ? 'closed' : 'opened',
    installationId: installationOf(payload),
    repositoryId,
    number,
    branch: branchOf(text(head, 'ref', NAME_CHARS_MAX), 'pull_request.head.ref'),
    sha,
    title: optionalText(pullRequest['title'], MESSAGE_CHARS_MAX),
    author: optionalText(fields(pullRequest['user'] ?? {}, 'pull_request.user')['login'], NAME_CHARS_MAX),
    isFork: origin !== repositoryId,
  };
}

const installationActions = ['created', 'deleted', 'suspend', 'unsuspend', 'new_permissions_accepted'] as const;

function readInstallationChange(payload: Fields): InstallationChange | null {
  const action = installationActions.find((each) => each === payload['action']);
  if (action === undefined) return null;
  const installation = fields(payload['installation'], 'installation');
  return {
    event: 'installation',
    action,
    installationId: id(installation, 'id'),
    accountLogin: optionalText(fields(installation['account'] ?? {}, 'installation.account')['login'], NAME_CHARS_MAX),
    permissions: toPermissions(installation['permissions']),
  };
}

function readInstallationRepositories(payload: Fields): InstallationRepositories | null {
  const list = (name: string): string[] => {
    const rows = payload[name] ?? [];
    if (!Array.isArray(rows) || rows.length > REPOSITORIES_MAX)
      throw new Failure('delivery_malformed', `${name} must be a list`);
    return (rows as unknown[]).map((row) => id(fields(row, name), 'id'));
  };
  return {
    event: 'installation_repositories',
    installationId: installationOf(payload),
    added: list('repositories_added'),
    removed: list('repositories_removed'),
  };
}

/** A webhook that was set up for a single repository, not by the application, has no installation. */
function installationOf(payload: Fields): string {
  return id(fields(payload['installation'], 'installation'), 'id');
}

/** The host sends seconds since 1970 for pushes, and a date for other events. */
function seconds(value: unknown): number {
  const parsed = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) / 1000 : Number.NaN;
  return Number.isFinite(parsed) && parsed > 0 && parsed < 2 ** 40 ? Math.floor(parsed) : 0;
}
