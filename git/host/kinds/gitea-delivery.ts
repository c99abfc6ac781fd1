// Parses webhook deliveries of Gitea and Forgejo. Gitea's deliveries look like GitHub's, but have no installation.
// Pure.
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

/** Actions of pull requests by which a commit may be new. */
const openingActions: readonly unknown[] = ['opened', 'reopened', 'synchronized'];

/** @throws {Failure} `delivery_malformed` */
export function readGiteaDeliveries(event: string, body: unknown): Delivery[] {
  const read = readers[event];
  return read === undefined ? [] : read(fields(body, 'the body'));
}

const readers: Readonly<Record<string, (payload: Fields) => Delivery[]>> = {
  push: readPush,
  delete: readDeletion,
  pull_request: readPullRequest,
  pull_request_sync: readPullRequest,
};

function about(payload: Fields): { readonly installationId: string; readonly repositoryId: string } {
  return { installationId: '', repositoryId: id(fields(payload['repository'], 'repository'), 'id') };
}

function readPush(payload: Fields): Delivery[] {
  const ref = text(payload, 'ref', NAME_CHARS_MAX + 11);
  if (!ref.startsWith('refs/heads/')) return [];
  const head = fields(payload['head_commit'] ?? {}, 'head_commit');
  const author = fields(head['author'] ?? {}, 'head_commit.author');
  return [
    {
      event: 'push',
      ...about(payload),
      branch: branchOf(ref.slice('refs/heads/'.length), 'ref'),
      before: commitOrNull(payload, 'before'),
      after: commitOrNull(payload, 'after'),
      pushedAt: arrivedAt(),
      message: optionalText(head['message'], MESSAGE_CHARS_MAX),
      author: optionalText(author['username'] || author['name'], NAME_CHARS_MAX),
      // Unknown: a force push looks like any other push, and the host does not list the commits that it removes.
      files: null,
    },
  ];
}

function readDeletion(payload: Fields): Delivery[] {
  if (payload['ref_type'] !== 'branch') return [];
  const ref = text(payload, 'ref', NAME_CHARS_MAX + 11).replace(/^refs\/heads\//, '');
  return [{ event: 'delete', ...about(payload), branch: branchOf(ref, 'ref'), pushedAt: arrivedAt() }];
}

function readPullRequest(payload: Fields): Delivery[] {
  const action = payload['action'];
  if (action !== 'closed' && !openingActions.includes(action)) return [];
  const pullRequest = fields(payload['pull_request'], 'pull_request');
  const head = fields(pullRequest['head'], 'pull_request.head');
  const { repositoryId, ...rest } = about(payload);
  // The repository of a deleted fork is null; it still counts as a fork.
  const origin = head['repo'] == null ? null : id(fields(head['repo'], 'pull_request.head.repo'), 'id');
  return [
    {
      event: 'pull_request',
      ...rest,
      repositoryId,
      action: action === 'closed' ? 'closed' : 'opened',
      number: pullRequestNumber(payload, 'number'),
      branch: branchOf(text(head, 'ref', NAME_CHARS_MAX), 'pull_request.head.ref'),
      sha: commitOf(head, 'sha'),
      title: optionalText(pullRequest['title'], MESSAGE_CHARS_MAX),
      author: optionalText(fields(pullRequest['user'] ?? {}, 'pull_request.user')['login'], NAME_CHARS_MAX),
      isFork: origin !== repositoryId,
    },
  ];
}
