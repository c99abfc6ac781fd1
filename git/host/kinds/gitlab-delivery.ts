// Parses webhook deliveries of GitLab: pushes, which include deleted branches, and merge requests. Pure.
import {
  MESSAGE_CHARS_MAX,
  NAME_CHARS_MAX,
  arrivedAt,
  branchOf,
  commitOf,
  commitOrNull,
  fields,
  id,
  optionalText,
  pullRequestNumber,
  text,
  type Delivery,
  type Fields,
} from '../delivery.ts';

/** Actions of merge requests by which a commit may be new. */
const openingActions: readonly unknown[] = ['open', 'reopen', 'update'];

/** @throws {Failure} `delivery_malformed` */
export function readGitlabDeliveries(event: string, body: unknown): Delivery[] {
  if (event === 'Push Hook') return readPush(fields(body, 'the body'));
  return event === 'Merge Request Hook' ? readMergeRequest(fields(body, 'the body')) : [];
}

function readPush(payload: Fields): Delivery[] {
  const ref = text(payload, 'ref', NAME_CHARS_MAX + 11);
  if (!ref.startsWith('refs/heads/')) return [];
  const after = commitOrNull(payload, 'after');
  const commits = Array.isArray(payload['commits']) ? (payload['commits'] as unknown[]) : [];
  const head = commits.map((each) => fields(each, 'commits')).find((commit) => commit['id'] === after);
  return [
    {
      event: 'push',
      installationId: '',
      repositoryId: id(payload, 'project_id'),
      branch: branchOf(ref.slice('refs/heads/'.length), 'ref'),
      before: commitOrNull(payload, 'before'),
      after,
      pushedAt: arrivedAt(),
      message: optionalText(head?.['message'], MESSAGE_CHARS_MAX),
      author: optionalText(payload['user_username'], NAME_CHARS_MAX),
      // Unknown: a force push looks like any other push, and the host does not list the commits that it removes.
      files: null,
    },
  ];
}

function readMergeRequest(payload: Fields): Delivery[] {
  const change = fields(payload['object_attributes'], 'object_attributes');
  const isClosed = change['action'] === 'close' || change['action'] === 'merge';
  if (!isClosed && !openingActions.includes(change['action'])) return [];
  const repositoryId = id(change, 'target_project_id');
  const { source_project_id: source } = change;
  return [
    {
      event: 'pull_request',
      installationId: '',
      repositoryId,
      action: isClosed ? 'closed' : 'opened',
      number: pullRequestNumber(change, 'iid'),
      branch: branchOf(text(change, 'source_branch', NAME_CHARS_MAX), 'object_attributes.source_branch'),
      sha: commitOf(fields(change['last_commit'], 'object_attributes.last_commit'), 'id'),
      title: optionalText(change['title'], MESSAGE_CHARS_MAX),
      author: optionalText(fields(payload['user'] ?? {}, 'user')['username'], NAME_CHARS_MAX),
      // The project of a deleted fork is null; it still counts as a fork.
      isFork: source !== change['target_project_id'],
    },
  ];
}
